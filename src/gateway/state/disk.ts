// The disk calls that an atomic write is made of, one by one, so that a test can fail each of them
// or kill the process before it.

import { open, rename, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

export interface Disk {
  /** Makes or empties a file that only its owner may read. */
  create(file: string): Promise<FileHandle>
  write(handle: FileHandle, text: string): Promise<void>
  sync(handle: FileHandle): Promise<void>
  close(handle: FileHandle): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Makes a rename in the folder survive a power cut. */
  syncFolder(folder: string): Promise<void>
  remove(file: string): Promise<void>
}

/** State may hold keys and names: nobody else reads it. */
const OWNER_ONLY = 0o600

export const disk: Disk = {
  create: (file) => open(file, 'w', OWNER_ONLY),
  write: (handle, text) => handle.writeFile(text),
  sync: (handle) => handle.sync(),
  close: (handle) => handle.close(),
  rename,
  async syncFolder(folder) {
    await using handle = await open(folder, 'r')
    await handle.sync()
  },
  remove: unlink,
}

/** Codes with which file systems and Windows say that a folder cannot be flushed at all. */
const NO_FOLDER_SYNC = new Set(['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EISDIR', 'EPERM'])

/**
 * Replaces a file: afterwards it holds either the old text or the new one, also when the process
 * or the machine stops in between. Rejects when the old one stays. Resolves with a warning when
 * the new one is there but might not survive a power cut.
 */
export async function replaceFile(
  { file, folder }: { file: string; folder: string },
  text: string,
  calls: Disk = disk,
): Promise<string | undefined> {
  // A name of its own per file and not per write: what a killed process leaves is overwritten.
  const temporary = `${file}.tmp`
  try {
    await writeWhole(temporary, text, calls)
    await calls.rename(temporary, file)
  } catch (error) {
    await calls.remove(temporary).catch(() => {}) // not there, or as stuck as the rest of the disk
    throw error
  }
  try {
    await calls.syncFolder(folder)
    return undefined
  } catch (error) {
    if (NO_FOLDER_SYNC.has(codeOf(error))) return undefined
    return `${file} is written, but ${folder} could not be flushed (${messageOf(error)}): a power cut may bring the old one back`
  }
}

async function writeWhole(file: string, text: string, calls: Disk): Promise<void> {
  const handle = await calls.create(file)
  try {
    await calls.write(handle, text)
    await calls.sync(handle)
  } catch (error) {
    await handle.close().catch(() => {}) // the first error says what went wrong
    throw error
  }
  await calls.close(handle)
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : ''
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'the user that runs the gateway has no right to it',
  EPERM: 'the user that runs the gateway has no right to it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOENT: 'the folder is gone',
}

/** Why a disk call failed, in words an operator can act on. */
export function reasonOf(cause: unknown): string {
  const known = REASONS[codeOf(cause)]
  return known === undefined ? messageOf(cause) : `${known} (${messageOf(cause)})`
}
