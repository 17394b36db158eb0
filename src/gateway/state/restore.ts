// Brings a backup back. Everything is prepared beside its place first; one write, the journal, then
// decides, and only after it files change their places. Before all that the present state goes into
// a backup of its own, so that a restore can be undone by a restore.

import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { open, statfs } from 'node:fs/promises'
import path from 'node:path'
import { writeBackup } from './backup.ts'
import type { MadeBackup } from './backup.ts'
import { BackupError } from './backup-error.ts'
import type { BackupFacts } from './backup-manifest.ts'
import { mainFiles } from './backup-sources.ts'
import type { Places } from './backup-sources.ts'
import type { Backup, BackupEntry } from './backup-verify.ts'
import { backupBefore, halfBackupsBefore, pruneBackupsBefore } from './backups-before.ts'
import { disk, flushFolder, reasonOf, writeWhole } from './disk.ts'
import type { Disk } from './disk.ts'
import { giveRights, realPlace, rightsFor } from './file-rights.ts'
import { lockRestore } from './restore-lock.ts'
import type { RestoreLock } from './restore-lock.ts'
import { apply, isDecided, writeJournal } from './restore-journal.ts'
import type { Journal } from './restore-journal.ts'
import { isChange } from './restore-plan.ts'
import type { Change } from './restore-plan.ts'

export interface RestoreRequest extends Pick<BackupFacts, 'ogwVersion' | 'host' | 'now'> {
  backup: Backup
  places: Places
  /**
   * Where config and state are until then, where that is elsewhere: this is what can be brought back.
   * Nothing is replaced or removed then but the config, as `assertUndoable` sees to.
   */
  before?: Places
  /** As planned; `same` and `keep` are left alone. */
  changes: readonly Change[]
  /** Who restores, as in `root@pts/3`. */
  actor: string
  /** Rejects where a gateway has begun to run over the state; asked right before the decision. */
  assertStopped(): Promise<void>
  signal?: AbortSignal
  disk?: Disk
}

interface Prepared {
  target: string
  staged: { file: string; entry: BackupEntry } | null
}

export interface Restored {
  /** The backup of what was before. */
  undo: string
  /** This ogw would not start with what was before: it is restored with --force alone. */
  undoNeedsForce: boolean
  /** What did not work and takes nothing from the restore. */
  warnings: string[]
}

/**
 * Resolves with the backup of what was before. Rejects with BackupError: then nothing changed,
 * unless the message says that the restore is decided.
 */
export async function restore(request: RestoreRequest): Promise<Restored> {
  const { dir } = request.places.state
  using lock = takeLock(dir)
  return await restoreLocked(request, dir, lock)
}

function takeLock(dir: string): RestoreLock {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    return lockRestore(dir)
  } catch (cause) {
    throw cause instanceof BackupError ? cause : nothingDone(cause)
  }
}

async function restoreLocked(
  request: RestoreRequest,
  dir: string,
  lock: RestoreLock,
): Promise<Restored> {
  const calls = request.disk ?? disk
  const prepared: Prepared[] = []
  let journal: Journal
  let undo: MadeBackup
  assertNoneLeft(dir)
  const file = freshUndo(dir, request.now)
  try {
    clearLeftovers(request, dir)
    await assertRoom(request)
    undo = await backUpPresent(request, file)
    assertAsPlanned(request, undo)
    lock.assertMine()
    await stageAll(request, prepared)
    journal = journalOf(request, prepared, file)
    await request.assertStopped()
    request.signal?.throwIfAborted()
    await writeJournal(dir, journal, calls)
  } catch (cause) {
    for (const { staged } of prepared) if (staged !== null) rmSync(staged.file, { force: true })
    // Of many attempts on a disk that is nearly full none may leave anything.
    if (!isDecided(dir)) rmSync(file, { force: true })
    if (cause instanceof BackupError || request.signal?.aborted === true) throw cause
    throw nothingDone(cause)
  }
  let applied: string[]
  try {
    applied = await apply(dir, journal, calls)
  } catch (cause) {
    const message = `the restore is decided but only partly done: ${reasonOf(cause)}. Repair that, then start the gateway or restore again: either does the rest. What was before is in ${journal.undo}`
    throw new BackupError('failed', message, { cause })
  }
  const warnings = [...applied, ...prune(dir, [request.backup.file, journal.undo])]
  const undoNeedsForce = undo.manifest.entries.some(({ problem }) => problem !== null)
  return { undo: journal.undo, undoNeedsForce, warnings }
}

/** A clock that was set back comes to the same moment again: the backup of then must not be lost. */
function freshUndo(dir: string, now: Date): string {
  for (let at = now.getTime(); ; at += 1) {
    const file = backupBefore(dir, new Date(at))
    if (!existsSync(file)) return file
  }
}

function nothingDone(cause: unknown): BackupError {
  const message = `nothing was restored and nothing changed: ${reasonOf(cause)}`
  return new BackupError('failed', message, { cause })
}

/** Another may have been decided, and killed, since somebody was asked. */
function assertNoneLeft(dir: string): void {
  if (!isDecided(dir)) return
  const message = `another restore in ${dir} was interrupted meanwhile: restore again, which does the rest of that first`
  throw new BackupError('refused', message)
}

/** Of a restore that was killed before it was decided: it may have been on a disk nearly full. */
function clearLeftovers({ places }: RestoreRequest, dir: string): void {
  const staged = mainFiles(places).map(({ file }) => stagedAt(file))
  for (const file of [...staged, ...halfBackupsBefore(dir)]) rmSync(file, { force: true })
}

/** Beside its place, so that a rename is enough afterwards. */
function stagedAt(target: string): string {
  return `${target}.restore`
}

/** `prepared` grows with each file, so that whoever fails knows what to clear away. */
async function stageAll(request: RestoreRequest, prepared: Prepared[]): Promise<void> {
  for (const { change, entry, path: file } of request.changes) {
    if (file === null || !isChange({ change })) continue
    request.signal?.throwIfAborted()
    const target = realPlace(file)
    const staged = entry === null ? null : { file: stagedAt(target), entry }
    prepared.push({ target, staged })
    if (staged !== null) await stage(request, target, staged)
  }
}

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

/** Between the plan and the lock somebody may have been asked for minutes. */
function assertAsPlanned(
  { changes, before, places }: RestoreRequest,
  { manifest }: MadeBackup,
): void {
  if (before !== undefined) return
  const present = new Map(manifest.entries.map((entry) => [entry.path, entry.sha256]))
  const other = changes.find(
    ({ change, path: file, entry }) =>
      change === 'same' && file !== null && present.get(file) !== entry?.sha256,
  )
  if (other === undefined) return
  const message = `${other.path} has changed since it was compared, and nothing was restored: is a gateway started again and again over ${places.state.dir}? Stop it, and restore again`
  throw new BackupError('refused', message)
}

async function backUpPresent(request: RestoreRequest, file: string): Promise<MadeBackup> {
  const { places, before = places } = request
  const made = await writeBackup({ ...request, places: before }, { file })
  const { uid, gid } = rightsFor(path.join(places.state.dir, 'new'))
  await using handle = await open(file, 'r')
  await giveRights(handle, { uid, gid, mode: 0o600 })
  return made
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
  const changed = changes.filter(isChange)
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

/**
 * The one that was just restored stays: whoever undid something may want to do it again. So does the
 * one just made: after a clock that was set back its name is not that of the newest.
 */
function prune(dir: string, inUse: readonly string[]): string[] {
  try {
    pruneBackupsBefore(dir, inUse)
    return []
  } catch (error) {
    return [`old backups in ${dir} could not be removed: ${reasonOf(error)}`]
  }
}
