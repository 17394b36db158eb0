// The files that go into a backup. All are opened in one step and read afterwards: whoever replaces
// or rotates one meanwhile leaves the opened one whole, so that they are of the same moment.

import { closeSync, constants, createReadStream, fstatSync, openSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { BackupError } from './backup-error.ts'
import { entryName } from './backup-manifest.ts'
import type { BackupRole } from './backup-manifest.ts'
import { codeOf, reasonOf } from './disk.ts'
import { STATE_FILES, STATE_ROLES } from './state-files.ts'
import type { StatePlaces } from './state-files.ts'

export interface Places {
  /** Undefined = there is no config file. */
  config: string | undefined
  state: StatePlaces
}

export interface Source {
  /** In the backup. */
  name: string
  role: BackupRole
  path: string
  /** As long as it was when it was opened: lines that come later are not read. */
  chunks(): AsyncIterable<Uint8Array>
}

export interface Sources extends Disposable {
  all: readonly Source[]
  /** Roles that have a place and no file there. */
  absent: string[]
}

/** Throws BackupError where a file is there and cannot be read. */
export function openSources(places: Places): Sources {
  const handles: number[] = []
  const all: Source[] = []
  const absent: string[] = []
  try {
    for (const { role, file, beside } of filesOf(places)) {
      const source = openSource(role, { file, beside }, handles)
      if (source !== undefined) all.push(source)
      else if (beside === '') absent.push(role)
    }
  } catch (error) {
    handles.forEach(closeSync)
    throw error
  }
  return { all, absent, [Symbol.dispose]: () => handles.forEach(closeSync) }
}

function filesOf(places: Places): { role: BackupRole; file: string; beside: string }[] {
  return mainFiles(places).flatMap(({ role, file }) =>
    ['', ...besides(role, file)].map((beside) => ({ role, file: file + beside, beside })),
  )
}

/** Each role with the place of its file, the config first. */
export function mainFiles({ config, state }: Places): { role: BackupRole; file: string }[] {
  return (['config', ...STATE_ROLES] as const).flatMap((role) => {
    const file = role === 'config' ? config : state[role]
    return file === undefined || file === null ? [] : [{ role, file }]
  })
}

/** What follows the name in files that belong to it, as `.1`, `.2` for those that were rotated. */
export function besides(role: BackupRole, file: string): string[] {
  const pattern = role === 'config' ? undefined : STATE_FILES[role].beside
  if (pattern === undefined) return []
  const base = path.basename(file)
  return namesIn(path.dirname(file))
    .filter((name) => name.startsWith(base) && pattern.test(name.slice(base.length)))
    .map((name) => name.slice(base.length))
    .toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw unreadable(folder, error)
  }
}

function openSource(
  role: BackupRole,
  { file, beside }: { file: string; beside: string },
  handles: number[],
): Source | undefined {
  let handle: number
  try {
    // Without blocking: a pipe at that place would wait for somebody who writes to it.
    handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unreadable(file, error)
  }
  handles.push(handle)
  const found = fstatSync(handle)
  if (!found.isFile()) throw new BackupError('failed', `cannot read ${file}: it is no file`)
  return {
    name: entryName(role, beside),
    role,
    path: file,
    chunks: () => (found.size === 0 ? nothing() : bytesOf(file, handle, found.size)),
  }
}

function bytesOf(file: string, fd: number, size: number): AsyncIterable<Uint8Array> {
  return createReadStream(file, { fd, start: 0, end: size - 1, autoClose: false })
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function unreadable(file: string, cause: unknown): BackupError {
  return new BackupError('failed', `cannot read ${file}: ${reasonOf(cause)}`, { cause })
}
