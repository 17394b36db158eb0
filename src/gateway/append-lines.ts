// Appends whole lines to a file or none: what a disk takes of a write that fails goes again, so
// that the same lines written once more are not there twice.

import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'

/** State may hold names of people: nobody else reads it. */
const OWNER_ONLY = 0o600

/** `text`: lines with their ends. Makes the file where there is none. Rejects as the disk does. */
export async function appendLines(file: string, text: string): Promise<void> {
  await using handle = await open(file, 'a+', OWNER_ONLY)
  await appendLinesTo(handle, text)
}

/** `handle`: of a file that is open for reading and appending. */
export async function appendLinesTo(handle: FileHandle, text: string): Promise<void> {
  const { size } = await handle.stat()
  // A process that was killed in a write leaves half a line, which would take the next one with it.
  const begin = (await endsWithinLine(handle, size)) ? '\n' : ''
  try {
    await handle.writeFile(begin + text)
  } catch (error) {
    await handle.truncate(size).catch(() => {}) // as stuck as the write: the first error says why
    throw error
  }
}

async function endsWithinLine(handle: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer.toString('latin1') !== '\n'
}
