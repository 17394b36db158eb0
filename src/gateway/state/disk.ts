// The disk calls that an atomic write is made of, one by one, so that a test can fail each of them
// or kill the process before it.

import { open, rename, rm, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

export interface Disk {
  /** Makes a new file that only its owner may read; what has that name, a link too, goes. */
  create(file: string): Promise<FileHandle>
  /** Behind what was written before. */
  write(handle: FileHandle, data: string | Uint8Array): Promise<void>
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
  async create(file) {
    await rm(file, { force: true })
    return await open(file, 'wx', OWNER_ONLY)
  },
  write: (handle, data) => handle.writeFile(data),
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
  { file, folder, ready }: { file: string; folder: string; ready?: Ready },
  content: Content,
  calls: Disk = disk,
): Promise<string | undefined> {
  // A name of its own per file and not per write: what a killed process leaves is overwritten.
  const temporary = `${file}.tmp`
  try {
    await writeWhole(temporary, content, { calls, ...(ready !== undefined && { ready }) })
    await calls.rename(temporary, file)
  } catch (error) {
    await calls.remove(temporary).catch(() => {}) // not there, or as stuck as the rest of the disk
    throw error
  }
  try {
    await flushFolder(folder, calls)
    return undefined
  } catch (error) {
    return `${file} is written, but ${folder} could not be flushed (${messageOf(error)}): a power cut may bring the old one back`
  }
}

/** As far as the file system can. */
export async function flushFolder(folder: string, calls: Disk = disk): Promise<void> {
  try {
    await calls.syncFolder(folder)
  } catch (error) {
    if (!NO_FOLDER_SYNC.has(codeOf(error))) throw error
  }
}

/** Whole, or in pieces. */
export type Content = string | AsyncIterable<Uint8Array>

/** Sets rights before anybody can see the file whole. */
export type Ready = (handle: FileHandle) => Promise<void>

/** A new file whose content is flushed. A file that could not be written whole is left behind. */
export async function writeWhole(
  file: string,
  content: Content,
  { calls = disk, ready }: { calls?: Disk; ready?: Ready } = {},
): Promise<void> {
  const handle = await calls.create(file)
  try {
    if (typeof content === 'string') await calls.write(handle, content)
    else for await (const chunk of content) await calls.write(handle, chunk)
    await ready?.(handle)
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
  EACCES: 'the user that runs this has no right to it',
  EPERM: 'the user that runs this has no right to it',
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
