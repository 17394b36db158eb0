// Brings a backup back. Everything is prepared beside its place first; one write, the journal, then
// decides, and only after it files change their places. Before all that the present state goes into
// a backup of its own, so that a restore can be undone by a restore.

import { mkdirSync, readdirSync, rmSync, unlinkSync } from 'node:fs'
import { open, statfs } from 'node:fs/promises'
import path from 'node:path'
import { writeBackup } from './backup.ts'
import { BackupError } from './backup-error.ts'
import type { BackupFacts } from './backup-manifest.ts'
import type { Places } from './backup-sources.ts'
import type { Backup, BackupEntry } from './backup-verify.ts'
import { disk, flushFolder, reasonOf, writeWhole } from './disk.ts'
import type { Disk } from './disk.ts'
import { giveRights, realPlace, rightsFor } from './file-rights.ts'
import { apply, writeJournal } from './restore-journal.ts'
import type { Journal } from './restore-journal.ts'
import type { Change } from './restore-plan.ts'

export interface RestoreRequest extends Pick<BackupFacts, 'ogwVersion' | 'host' | 'now'> {
  backup: Backup
  places: Places
  /** As planned; `same` and `keep` are left alone. */
  changes: readonly Change[]
  /** Who restores, as in `root@pts/3`. */
  actor: string
  /** Rejects where a gateway has begun to run over the state; asked right before the decision. */
  assertStopped(): Promise<void>
  signal?: AbortSignal
  disk?: Disk
}

/** Backups that were made before restores: so many are kept, the newest. */
const KEPT = 5
const BEFORE = /^before-restore-\d{8}T\d{9}Z\.zip$/

interface Prepared {
  target: string
  staged: { file: string; entry: BackupEntry } | null
}

/**
 * Resolves with the backup of what was before. Rejects with BackupError: then nothing changed,
 * unless the message says that the restore is decided.
 */
export async function restore(request: RestoreRequest): Promise<{ undo: string }> {
  const { dir } = request.places.state
  const calls = request.disk ?? disk
  const prepared: Prepared[] = []
  let journal: Journal
  try {
    journal = await prepare(request, prepared)
    await request.assertStopped()
    request.signal?.throwIfAborted()
    await writeJournal(dir, journal, calls)
  } catch (cause) {
    for (const { staged } of prepared) if (staged !== null) rmSync(staged.file, { force: true })
    if (cause instanceof BackupError || request.signal?.aborted === true) throw cause
    const message = `nothing was restored and nothing changed: ${reasonOf(cause)}`
    throw new BackupError('failed', message, { cause })
  }
  try {
    await apply(dir, journal, calls)
  } catch (cause) {
    const message = `the restore is decided but only partly done: ${reasonOf(cause)}. Repair that, then start the gateway or restore again: either does the rest. What was before is in ${journal.undo}`
    throw new BackupError('failed', message, { cause })
  }
  prune(dir, request.backup.file)
  return { undo: journal.undo }
}

async function prepare(request: RestoreRequest, prepared: Prepared[]): Promise<Journal> {
  const { dir } = request.places.state
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  await assertRoom(request)
  const undo = await backUpPresent(request)
  for (const { change, entry, path: file } of request.changes) {
    if (file === null || change === 'same' || change === 'keep') continue
    request.signal?.throwIfAborted()
    const target = realPlace(file)
    const staged = entry === null ? null : { file: `${target}.restore`, entry }
    prepared.push({ target, staged })
    if (staged !== null) await stage(request, target, staged)
  }
  return journalOf(request, prepared, undo)
}

/** Beside its place, so that a rename is enough afterwards. */
async function stage(
  { backup, disk: calls = disk }: RestoreRequest,
  target: string,
  { file, entry }: NonNullable<Prepared['staged']>,
): Promise<void> {
  mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 })
  const rights = rightsFor(target)
  await writeWhole(file, backup.read(entry), {
    calls,
    ready: (handle) => giveRights(handle, rights),
  })
  await flushFolder(path.dirname(target), calls)
}

/** A backup that unpacks to more than the disk holds is told before the disk is full of it. */
async function assertRoom({ places, changes, backup }: RestoreRequest): Promise<void> {
  const { dir } = places.state
  const needed = changes
    .filter(({ change }) => change === 'replace' || change === 'create')
    .reduce((sum, { entry }) => sum + (entry?.size ?? 0), 0)
  const { bavail, bsize } = await statfs(dir)
  if (needed <= bavail * bsize) return
  const message = `there is no room for ${backup.file} in ${dir}: it needs ${needed} bytes, and ${bavail * bsize} are free`
  throw new BackupError('failed', message)
}

async function backUpPresent(request: RestoreRequest): Promise<string> {
  const { places, now, signal } = request
  const stamp = now.toISOString().replaceAll(/[-:.]/g, '')
  const file = path.join(places.state.dir, `before-restore-${stamp}.zip`)
  const { ogwVersion, host } = request
  await writeBackup(
    {
      places,
      ogwVersion,
      host,
      now,
      ...(signal !== undefined && { signal }),
      ...(request.disk !== undefined && { disk: request.disk }),
    },
    { file },
  )
  const { uid, gid } = rightsFor(path.join(places.state.dir, 'new'))
  await using handle = await open(file, 'r')
  await giveRights(handle, { uid, gid, mode: 0o600 })
  return file
}

function journalOf(request: RestoreRequest, prepared: readonly Prepared[], undo: string): Journal {
  const { backup, actor, now, places } = request
  const at = now.toISOString()
  const audit = places.state.audit_file
  return {
    version: 1,
    at,
    actor,
    backup: backup.file,
    undo,
    steps: prepared.map(({ target, staged }) => ({
      target,
      staged: staged === null ? null : { file: staged.file, sha256: staged.entry.sha256 },
    })),
    audit: audit === null ? null : { file: realPlace(audit), line: auditLine(request, undo) },
  }
}

/** As `ogw audit` reads it. */
function auditLine({ backup, changes, actor, now }: RestoreRequest, undo: string): string {
  const { created_at, host, ogw_version } = backup.manifest
  const changed = changes.filter(({ change }) => change !== 'same' && change !== 'keep')
  const entry = {
    at: now.toISOString(),
    actor,
    verified: false,
    operation: 'backup.restore',
    input: { file: backup.file, created_at, host, ogw_version },
    outcome: 'changed',
    before: { backup: undo },
    after: {
      files: changed.map(({ role, path: file, change }) => ({ name: role, path: file, change })),
    },
    message: `restored the backup of ${created_at} from ${backup.file}; ${undo} has what was before`,
  }
  return `${JSON.stringify(entry)}\n`
}

/** The one that was just restored stays: whoever undid something may want to do it again. */
function prune(dir: string, restored: string): void {
  const all = readdirSync(dir)
    .filter((name) => BEFORE.test(name))
    .toSorted()
  for (const name of all.slice(0, -KEPT)) {
    const file = path.join(dir, name)
    if (file !== path.resolve(restored)) unlinkSync(file)
  }
}
