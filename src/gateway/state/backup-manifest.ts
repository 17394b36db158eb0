// What a backup says about itself: manifest.json, and SHA256SUMS, which also covers the manifest
// and which `sha256sum -c` reads where there is no ogw.

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { BackupError } from './backup-error.ts'
import { STATE_FILES, STATE_ROLES } from './state-files.ts'
import type { StateFileKind, StateRole } from './state-files.ts'

export const MANIFEST_NAME = 'manifest.json'
export const SUMS_NAME = 'SHA256SUMS'
const CONFIG_NAME = 'config.json'
const STATE_FOLDER = 'state/'

/** The version of the form of backups; what is in them has versions of its own. */
const MANIFEST_VERSION = 1

export type BackupRole = 'config' | StateRole

/** It is shown: a forged one must not look like a line of ogw's own. */
const OneLine = z.string().regex(/^\P{Cc}*$/u)

const ManifestEntry = z.object({
  /** Within the ZIP. */
  name: z.string(),
  role: z.string(),
  /** Where the file was. Only shown: a restore writes where the config says. */
  path: z.string(),
  /** Bytes. */
  size: z.int().min(0),
  /** In hex. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** Of the document; null where its form has none. */
  version: z.int().nullable(),
  /** Why the ogw that made the backup would not have started with it; null = it would have. */
  problem: z.string().nullable(),
})
export type ManifestEntry = z.infer<typeof ManifestEntry>

const Manifest = z.object({
  format: z.literal('ogw-backup'),
  version: z.literal(MANIFEST_VERSION),
  ogw_version: OneLine,
  created_at: z.iso.datetime(),
  host: OneLine,
  config_file: z.string().nullable(),
  state_dir: z.string(),
  entries: z.array(ManifestEntry),
  /** Roles that had no file: a restore makes it so again. */
  absent: z.array(z.string()),
})
export type Manifest = z.infer<typeof Manifest>

/** Who makes a backup, and when. */
export interface BackupFacts {
  ogwVersion: string
  host: string
  now: Date
  /** Where the config was read from; undefined = there is none. */
  configFile: string | undefined
  stateDir: string
}

export function makeManifest(
  facts: BackupFacts,
  entries: ManifestEntry[],
  absent: string[],
): Manifest {
  return {
    format: 'ogw-backup',
    version: MANIFEST_VERSION,
    ogw_version: facts.ogwVersion,
    created_at: facts.now.toISOString(),
    host: facts.host,
    config_file: facts.configFile ?? null,
    state_dir: facts.stateDir,
    entries,
    absent,
  }
}

export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`
}

/** `text` is the manifest's own, byte for byte. */
export function sumsText({ entries }: Pick<Manifest, 'entries'>, text: string): string {
  const own = createHash('sha256').update(text).digest('hex')
  const lines = [...entries, { name: MANIFEST_NAME, sha256: own }]
  return lines.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')
}

/** Throws BackupError where it is broken, or of a newer ogw. `file` is the backup's, for messages. */
export function readManifest(text: string, file: string): Manifest {
  const broken = (why: string): BackupError =>
    new BackupError('damaged', `${file} is damaged: ${MANIFEST_NAME}: ${why}`)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw broken('it is no JSON')
  }
  const head = z
    .object({ format: z.literal('ogw-backup'), version: z.int(), ogw_version: OneLine })
    .safeParse(json)
  if (!head.success) throw broken('it is not that of an ogw backup')
  const { version, ogw_version: by } = head.data
  if (version > MANIFEST_VERSION) {
    const why = `its form has version ${version}, this ogw knows ${MANIFEST_VERSION}`
    throw newerBackup(file, by, why)
  }
  const parsed = Manifest.safeParse(json)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw broken(`${issue?.path.map(String).join('.')}: ${issue?.message}`)
  }
  const strange = parsed.data.entries.find(({ role }) => !isRole(role))
  if (strange !== undefined) {
    throw newerBackup(file, by, `it holds ${strange.name}, which this ogw does not know`)
  }
  const wrong = parsed.data.entries.find((entry) => roleOf(entry.name) !== entry.role)
  if (wrong !== undefined) throw broken(`${wrong.name} cannot be the ${wrong.role}`)
  return parsed.data
}

function newerBackup(file: string, by: string, why: string): BackupError {
  const message = `${file} was made by a newer ogw (${by}): ${why}. Restore it with that ogw`
  return new BackupError('refused', message)
}

export function entryName(role: BackupRole, beside = ''): string {
  return role === 'config' ? CONFIG_NAME : `${STATE_FOLDER}${STATE_FILES[role].name}${beside}`
}

/** Undefined = no entry of a backup has that name. */
export function roleOf(name: string): BackupRole | undefined {
  if (name === CONFIG_NAME) return 'config'
  return STATE_ROLES.find((role) => {
    const plain = entryName(role)
    const { beside } = STATE_FILES[role]
    return name === plain || (name.startsWith(plain) && beside?.test(name.slice(plain.length)))
  })
}

/** What follows the plain name, as `.1` in `state/audit.jsonl.1`. */
export function besideOf(name: string, role: BackupRole): string {
  return name.slice(entryName(role).length)
}

/** The config is a document like those of the state. */
export function kindOf(role: BackupRole): StateFileKind['kind'] {
  return role === 'config' ? 'document' : STATE_FILES[role].kind
}

export function isRole(text: string): text is BackupRole {
  return text === 'config' || STATE_ROLES.some((role) => role === text)
}
