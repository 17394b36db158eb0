// Makes a backup: config and all state in one ZIP, with a manifest and checksums. It is written
// beside its place and put there when it is whole.

import { statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import path from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { ZipFile } from 'yazl'
import { BackupError } from './backup-error.ts'
import {
  MANIFEST_NAME,
  SUMS_NAME,
  besideOf,
  kindOf,
  makeManifest,
  manifestText,
  sumsText,
} from './backup-manifest.ts'
import type { BackupFacts, Manifest, ManifestEntry } from './backup-manifest.ts'
import { openSources } from './backup-sources.ts'
import type { Places, Source, Sources } from './backup-sources.ts'
import { disk, reasonOf, replaceFile } from './disk.ts'
import type { Disk } from './disk.ts'
import { STATE_FILES } from './state-files.ts'
import type { Judgement } from './state-files.ts'
import { MAX_DOCUMENT_BYTES, newTally, tallied } from './tally.ts'
import type { Tally } from './tally.ts'

export interface BackupRequest extends Pick<BackupFacts, 'ogwVersion' | 'host' | 'now'> {
  places: Places
  signal?: AbortSignal
  disk?: Disk
}

export interface MadeBackup {
  manifest: Manifest
  /** Bytes of the ZIP. */
  size: number
}

/** Rights within the ZIP: state may hold names and hashes of keys. */
const ENTRY_MODE = 0o100600

/**
 * Writes the ZIP to a file that only its owner may read. Rejects with BackupError; then nothing is
 * left behind.
 */
export async function writeBackup(
  request: BackupRequest,
  { file, overwrite = false }: { file: string; overwrite?: boolean },
): Promise<MadeBackup> {
  const found = statOf(file)
  // A device or a folder is no backup of yesterday: a rename would take its place.
  if (found?.isFile() === false) throw new BackupError('refused', `${file} is no file`)
  if (!overwrite && found !== undefined) {
    throw new BackupError(
      'refused',
      `${file} is there already: name another file, or say --force to overwrite it`,
    )
  }
  const target = path.resolve(file)
  const made = backupBytes(request)
  try {
    const place = { file: target, folder: path.dirname(target) }
    await replaceFile(place, made.chunks, request.disk ?? disk)
  } catch (cause) {
    if (cause instanceof BackupError || request.signal?.aborted === true) throw cause
    const message = `${file} could not be written, and nothing is left of it: ${reasonOf(cause)}`
    throw new BackupError('failed', message, { cause })
  }
  return made.result()
}

function statOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch {
    return undefined // a folder that nobody may enter is told by the write
  }
}

export interface BackupBytes {
  chunks: AsyncIterable<Uint8Array>
  /** Once all chunks have been taken. */
  result(): MadeBackup
}

/** The ZIP as it is made, piece by piece. Its files are opened when the first piece is asked for. */
export function backupBytes(request: BackupRequest): BackupBytes {
  const made: { manifest?: Manifest; size: number } = { size: 0 }
  return {
    chunks: zipped(request, made),
    result() {
      if (made.manifest === undefined) throw new TypeError('the backup is not whole yet')
      return { manifest: made.manifest, size: made.size }
    },
  }
}

async function* zipped(
  request: BackupRequest,
  made: { manifest?: Manifest; size: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  using sources = openSources(request.places)
  const zip = new ZipFile()
  const output = zip.outputStream.pipe(new PassThrough())
  zip.on('error', (error: Error) => output.destroy(error))
  const filled = fill(zip, sources, request).then(
    (manifest) => void (made.manifest = manifest),
    (error: unknown) => void output.destroy(asError(error)),
  )
  for await (const chunk of output as AsyncIterable<Uint8Array>) {
    request.signal?.throwIfAborted()
    made.size += chunk.length
    yield chunk
  }
  await filled
}

/** One entry after the other: the manifest needs the sums of all. */
async function fill(
  zip: ZipFile,
  sources: Sources,
  { places, ...facts }: BackupRequest,
): Promise<Manifest> {
  const options = { mtime: facts.now, mode: ENTRY_MODE }
  const entries: ManifestEntry[] = []
  for (const source of sources.all) {
    const tally = newTally()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stream = Readable.from(tallied(source.chunks(), kindOf(source.role), tally))
    stream.once('error', reject).once('close', resolve)
    zip.addReadStream(stream, source.name, options)
    await promise
    entries.push(entryOf(source, tally))
  }
  const stateDir = places.state.dir
  const manifest = makeManifest(
    { ...facts, configFile: places.config, stateDir },
    entries,
    sources.absent,
  )
  const text = manifestText(manifest)
  zip.addBuffer(Buffer.from(text), MANIFEST_NAME, options)
  zip.addBuffer(Buffer.from(sumsText(manifest, text)), SUMS_NAME, options)
  zip.end()
  return manifest
}

function entryOf({ name, role, path: from }: Source, tally: Tally): ManifestEntry {
  const { size, sha256 } = tally
  return { name, role, path: from, size, sha256, ...judged({ name, role }, tally) }
}

/** What a gateway of this version would make of the content. */
export function judged(
  { name, role }: Pick<Source, 'name' | 'role'>,
  { size, text }: Tally,
): Judgement {
  // No gateway reads what stands beside a file.
  if (role === 'config' || besideOf(name, role) !== '') return { version: null, problem: null }
  const { kind, judge } = STATE_FILES[role]
  if (kind === 'document' && size > MAX_DOCUMENT_BYTES) {
    return { version: null, problem: `it is larger than ${MAX_DOCUMENT_BYTES} bytes` }
  }
  return judge(text)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
