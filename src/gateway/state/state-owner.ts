// Which gateway runs over a state folder. It says so in a small file, whatever its socket is called,
// so that a restore can ask it and is not fooled by a process that is gone.

import { existsSync, readFileSync, realpathSync, unlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { codeOf } from './disk.ts'

const StateOwner = z.object({
  version: z.literal(1),
  pid: z.int(),
  host: z.string(),
  /** Its admin socket: whether it still lives can be asked there and nowhere else. */
  socket: z.string(),
  started_at: z.string(),
})
export type StateOwner = z.infer<typeof StateOwner>

const OWNER_NAME = 'gateway.json'

/** Throws the system's error where the folder cannot be written. */
export function claimState(dir: string, owner: Omit<StateOwner, 'version'>): Disposable {
  const file = path.join(dir, OWNER_NAME)
  const text = `${JSON.stringify({ version: 1, ...owner })}\n`
  writeFileSync(file, text, { mode: 0o600 })
  return {
    [Symbol.dispose]() {
      try {
        if (readFileSync(file, 'utf8') === text) unlinkSync(file)
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error // somebody has cleared the folder
      }
    },
  }
}

/** Undefined where no gateway has said so, or in a form that nobody can follow. */
export function stateOwner(dir: string): StateOwner | undefined {
  try {
    return StateOwner.safeParse(JSON.parse(readFileSync(path.join(dir, OWNER_NAME), 'utf8'))).data
  } catch {
    return undefined // none has run here, or it was killed while it wrote this
  }
}

/** A folder may be reached by a symbolic link. */
export function isSameFolder(a: string, b: string): boolean {
  return a === b || (existsSync(a) && existsSync(b) && realpathSync(a) === realpathSync(b))
}
