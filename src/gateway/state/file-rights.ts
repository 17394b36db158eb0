// Whose a file is. A restore is often run by root, and the gateway by a user of its own: a file that
// is replaced keeps its owner, and a new one belongs to the owner of its folder.

import { realpathSync, statSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { BackupError } from './backup-error.ts'
import { codeOf } from './disk.ts'

export interface Rights {
  uid: number
  gid: number
  mode: number
}

const OWNER_ONLY = 0o600

/** Of the file, or what a new one there should have. */
export function rightsFor(file: string): Rights {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found !== undefined) return { uid: found.uid, gid: found.gid, mode: found.mode & 0o777 }
  const { uid, gid } = statSync(path.dirname(file))
  return { uid, gid, mode: OWNER_ONLY }
}

/** Only root can give a file away; for everybody else it is theirs. */
export async function giveRights(handle: FileHandle, { uid, gid, mode }: Rights): Promise<void> {
  if (process.getuid?.() === 0) await handle.chown(uid, gid)
  await handle.chmod(mode)
}

/**
 * Where the file really is: a symbolic link to it stays one. Root follows no link to a file of
 * somebody else: whoever owns the folder could make it replace any file of the machine.
 */
export function realPlace(file: string): string {
  try {
    const real = realpathSync(file)
    if (real === file || process.getuid?.() !== 0) return real
    const inReal = path.join(realpathSync(path.dirname(file)), path.basename(file))
    const owners = [statSync(real).uid, statSync(path.dirname(file)).uid]
    if (real === inReal || owners[0] === owners[1] || owners[1] === 0) return real
    const message = `${file} is a link to ${real}, which belongs to another user; restore as the user of the gateway`
    throw new BackupError('refused', message)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return file
    throw error
  }
}
