// Opens a ZIP that anybody may have made or damaged, and lists its entries. What is no plain entry
// of a backup is refused here: a name that leaves the ZIP, a link, a second entry of a name, sizes
// that no gateway writes. An entry of a name that this ogw does not know is never read: the manifest
// says whether it is of a newer ogw. Nothing is ever unpacked to a path that the ZIP names.

import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { fromFdPromise } from 'yauzl'
import type { Entry, ZipFile } from 'yauzl'
import { BackupError } from './backup-error.ts'
import { MANIFEST_NAME, SUMS_NAME, kindOf, roleOf } from './backup-manifest.ts'
import { codeOf, messageOf, reasonOf } from './disk.ts'
import { MAX_DOCUMENT_BYTES } from './tally.ts'

export interface BackupZip extends AsyncDisposable {
  /** As the operator named it, for messages. */
  file: string
  /** Bytes of each entry as the ZIP declares them; reading more than that fails. */
  sizes: ReadonlyMap<string, number>
  /** Rejects with BackupError where the entry is damaged. */
  read(name: string): AsyncIterable<Uint8Array>
}

/** An audit log has at most 1,000 rotated files. */
const MAX_ENTRIES = 1_100
/** Of the manifest and the sums. */
const MAX_MANIFEST_BYTES = 4 * 1024 * 1024
/** Usage of 90 days on a busy gateway is a few gigabytes. */
const MAX_LINES_BYTES = 64 * 1024 * 1024 * 1024

/** The part of the attributes that says what kind of file it is, and the one of a plain file. */
const KIND_MASK = 0o170000
const PLAIN_FILE = 0o100000
const STORED = 0
const DEFLATED = 8

/** Rejects with BackupError. Content is not looked at yet. */
export async function openZip(file: string): Promise<BackupZip> {
  const handle = await openFile(file)
  try {
    const zip = await fromFdPromise(handle.fd, {
      autoClose: false,
      lazyEntries: true,
      decodeStrings: true,
      validateEntrySizes: true,
      strictFileNames: true,
    })
    const entries = await listEntries(zip, file)
    return {
      file,
      sizes: new Map([...entries].map(([name, { uncompressedSize }]) => [name, uncompressedSize])),
      read: (name) => readEntry(zip, entries, { file, name }),
      [Symbol.asyncDispose]: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error instanceof BackupError ? error : damaged(file, `it is no whole ZIP`, error)
  }
}

export function damaged(file: string, what: string, cause?: unknown): BackupError {
  const why = cause === undefined ? '' : ` (${messageOf(cause)})`
  return new BackupError('damaged', `${file} is damaged: ${what}${why}`, { cause })
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    const handle = await open(file, 'r')
    if ((await handle.stat()).isFile()) return handle
    await handle.close()
  } catch (cause) {
    const missing = codeOf(cause) === 'ENOENT'
    const why = missing ? 'there is no such file' : reasonOf(cause)
    throw new BackupError(missing ? 'not_found' : 'failed', `cannot read ${file}: ${why}`, {
      cause,
    })
  }
  throw new BackupError('failed', `cannot read ${file}: it is no file`)
}

async function listEntries(zip: ZipFile, file: string): Promise<Map<string, Entry>> {
  if (zip.entryCount > MAX_ENTRIES) {
    throw damaged(file, `it has ${zip.entryCount} entries, and no backup has so many`)
  }
  const entries = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) {
    const { fileName: name } = entry
    const problem = entries.has(name) ? 'it is there twice' : problemOf(entry)
    if (problem !== undefined) throw damaged(file, `${JSON.stringify(name)}: ${problem}`)
    entries.set(name, entry)
  }
  return entries
}

function problemOf(entry: Entry): string | undefined {
  const kind = (entry.externalFileAttributes >>> 16) & KIND_MASK
  if (kind !== 0 && kind !== PLAIN_FILE) return 'it is a link or a folder, where a file is wanted'
  if (entry.isEncrypted()) return 'it is encrypted'
  if (entry.compressionMethod !== STORED && entry.compressionMethod !== DEFLATED) {
    return `it is compressed in a way that ogw does not use (${entry.compressionMethod})`
  }
  const limit = limitOf(entry.fileName)
  if (limit !== undefined && entry.uncompressedSize > limit) {
    return `it says that it has ${entry.uncompressedSize} bytes; at most ${limit} are read`
  }
  return undefined
}

/** Bytes that an entry of that name may have; undefined = there is none of that name. */
function limitOf(name: string): number | undefined {
  if (name === MANIFEST_NAME || name === SUMS_NAME) return MAX_MANIFEST_BYTES
  const role = roleOf(name)
  if (role === undefined) return undefined
  return kindOf(role) === 'lines' ? MAX_LINES_BYTES : MAX_DOCUMENT_BYTES
}

async function* readEntry(
  zip: ZipFile,
  entries: ReadonlyMap<string, Entry>,
  { file, name }: { file: string; name: string },
): AsyncGenerator<Uint8Array, void, undefined> {
  const entry = entries.get(name)
  if (entry === undefined || limitOf(name) === undefined) throw damaged(file, `${name} is missing`)
  try {
    yield* await zip.openReadStreamPromise(entry)
  } catch (error) {
    if (error instanceof BackupError) throw error
    throw damaged(file, `${name} cannot be read`, error)
  }
}
