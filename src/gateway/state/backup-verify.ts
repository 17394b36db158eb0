// Reads a backup to its last byte and judges all of it, before a restore touches anything.

import { BackupError } from './backup-error.ts'
import {
  MANIFEST_NAME,
  SUMS_NAME,
  isRole,
  kindOf,
  readManifest,
  sumsText,
} from './backup-manifest.ts'
import type { BackupRole, Manifest, ManifestEntry } from './backup-manifest.ts'
import { damaged, openZip } from './backup-zip.ts'
import type { BackupZip } from './backup-zip.ts'
import { judged } from './backup.ts'
import { tallied, tallyOf, newTally } from './tally.ts'

export interface Backup extends AsyncDisposable {
  file: string
  manifest: Manifest
  entries: readonly BackupEntry[]
  /** The whole text of an entry that is a document or the config; undefined = it is not there. */
  text(role: BackupRole): string | undefined
  /** The bytes of an entry; rejects with BackupError where they are not those that were verified. */
  read(entry: BackupEntry): AsyncIterable<Uint8Array>
}

export interface BackupEntry extends ManifestEntry {
  role: BackupRole
}

/** Rejects with BackupError where anything is wrong: then it was made for nothing. */
export async function openBackup(file: string): Promise<Backup> {
  const zip = await openZip(file)
  try {
    const manifest = await manifestOf(zip)
    const texts = new Map<BackupRole, string>()
    const entries: BackupEntry[] = []
    for (const entry of manifest.entries) {
      const { role } = entry
      if (!isRole(role)) throw new TypeError(`readManifest let ${role} pass`)
      const { text, problem } = await verified(zip, { ...entry, role })
      entries.push({ ...entry, role, problem })
      if (kindOf(role) === 'document') texts.set(role, text)
    }
    return {
      file,
      manifest,
      entries,
      text: (role) => texts.get(role),
      read: (entry) => sameBytes(zip, entry),
      [Symbol.asyncDispose]: () => zip[Symbol.asyncDispose](),
    }
  } catch (error) {
    await zip[Symbol.asyncDispose]()
    throw error
  }
}

async function manifestOf(zip: BackupZip): Promise<Manifest> {
  const { file } = zip
  if (!zip.sizes.has(MANIFEST_NAME)) {
    throw damaged(file, `it has no ${MANIFEST_NAME}, so that it is no backup made by ogw`)
  }
  const { text } = await tallyOf(zip.read(MANIFEST_NAME), 'document')
  const { text: sums } = await tallyOf(zip.read(SUMS_NAME), 'document')
  // First of all: a manifest with a wrong letter may look like that of a newer ogw.
  const unlike = damaged(file, `${SUMS_NAME} and ${MANIFEST_NAME} do not fit each other`)
  if (!sums.endsWith(sumsText({ entries: [] }, text))) throw unlike
  const manifest = readManifest(text, file)
  if (sums !== sumsText(manifest, text)) throw unlike
  const listed = new Set([MANIFEST_NAME, SUMS_NAME, ...manifest.entries.map(({ name }) => name)])
  if (listed.size !== manifest.entries.length + 2) {
    throw damaged(file, `${MANIFEST_NAME} lists an entry twice`)
  }
  const missing = [...listed].find((name) => !zip.sizes.has(name))
  if (missing !== undefined) throw damaged(file, `${missing} is missing`)
  const strange = [...zip.sizes.keys()].find((name) => !listed.has(name))
  if (strange !== undefined) throw damaged(file, `${MANIFEST_NAME} does not list ${strange}`)
  return manifest
}

/** What this ogw makes of it counts, whatever the one that made the backup said. */
async function verified(
  zip: BackupZip,
  entry: BackupEntry,
): Promise<{ text: string; problem: string | null }> {
  const tally = await tallyOf(zip.read(entry.name), kindOf(entry.role))
  assertSame(zip.file, entry, tally)
  return { text: tally.text, problem: judged(entry, tally).problem }
}

async function* sameBytes(zip: BackupZip, entry: BackupEntry): AsyncGenerator<Uint8Array> {
  const tally = newTally()
  yield* tallied(zip.read(entry.name), 'lines', tally)
  assertSame(zip.file, entry, tally)
}

function assertSame(
  file: string,
  { name, size, sha256 }: BackupEntry,
  found: { size: number; sha256: string },
): void {
  if (found.size !== size) {
    throw damaged(file, `${name} has ${found.size} bytes, and ${size} when the backup was made`)
  }
  if (found.sha256 !== sha256) {
    throw damaged(file, `${name} is not what it was when the backup was made (its SHA-256 differs)`)
  }
}

/** Throws BackupError where a gateway of this version would not start with what is in it. */
export function refuseProblems({ file, entries, manifest }: Backup): void {
  const bad = entries.filter(({ problem }) => problem !== null)
  if (bad.length === 0) return
  const list = bad.map(({ name, problem }) => `${name}: ${problem}`).join('; ')
  const message = `${file} is whole, but this ogw would not start with what is in it: ${list}. It was made by ogw ${manifest.ogw_version}; --force puts it back as it was`
  throw new BackupError('refused', message)
}
