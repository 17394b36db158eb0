// The journal of a restore. Once it is on disk the restore is decided: whatever happens to the
// process, whoever comes next (the gateway at its start, or another restore) does the rest of it.
// Every step may be done twice.

import { constants, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { appendLinesTo } from '../append-lines.ts'
import { StartError } from '../start-error.ts'
import { BackupError } from './backup-error.ts'
import { backupsBefore } from './backups-before.ts'
import { codeOf, disk, flushFolder, reasonOf, replaceFile } from './disk.ts'
import type { Disk } from './disk.ts'
import { giveRights, rightsFor } from './file-rights.ts'
import { lockRestore, restoringProcess } from './restore-lock.ts'
import { sha256Of } from './tally.ts'

const Step = z.strictObject({
  /** The file that is replaced or removed. */
  target: z.string(),
  /** What takes its place; null = the target is removed. */
  staged: z.strictObject({ file: z.string(), sha256: z.string() }).nullable(),
})

const Journal = z.strictObject({
  version: z.literal(1),
  at: z.string(),
  actor: z.string(),
  /** The backup that is restored, and the one that was made before. */
  backup: z.string(),
  undo: z.string(),
  /** The config first: where it moves the state, the next start looks where this journal is. */
  steps: z.array(Step),
  /** The line that tells of the restore; null where there is no audit log. */
  audit: z.strictObject({ file: z.string(), line: z.string() }).nullable(),
})
export type Journal = z.infer<typeof Journal>

export const JOURNAL_NAME = 'restore-under-way.json'

/** The path is the real one: a link there is of somebody who wants root to write elsewhere. */
const APPEND = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

/** The gateway finishes what root began: it has to read the journal, which names files only. */
const READABLE = 0o644

/** Decides the restore. Rejects where it is not decided. */
export async function writeJournal(dir: string, journal: Journal, calls: Disk): Promise<void> {
  const file = path.join(dir, JOURNAL_NAME)
  const place = { file, folder: dir, ready: (handle: FileHandle) => handle.chmod(READABLE) }
  // A folder that cannot be flushed is no reason to stop: the journal stands, and says the truth.
  await replaceFile(place, `${JSON.stringify(journal)}\n`, calls)
}

export function isDecided(dir: string): boolean {
  return existsSync(path.join(dir, JOURNAL_NAME))
}

/** Undefined = no restore is under way. Throws StartError where the journal cannot be trusted. */
function readJournal(dir: string): Journal | undefined {
  const file = path.join(dir, JOURNAL_NAME)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
    // Its steps are done with the rights of whoever reads it.
    const { uid } = statSync(file)
    if (uid !== 0 && uid !== process.getuid?.()) {
      throw notFinished(file, `another user (uid ${uid}) began it, who has to finish it`)
    }
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined
    if (cause instanceof StartError) throw cause
    throw new StartError(`cannot read ${file}: ${reasonOf(cause)}`, 78, { cause })
  }
  try {
    return Journal.parse(JSON.parse(text))
  } catch (cause) {
    throw notFinished(file, 'its journal cannot be read', cause)
  }
}

export interface FinishedRestore extends Journal {
  /** What did not work and takes nothing from the restore. */
  warnings: string[]
}

/** What is left to do once a restore is decided takes seconds. Milliseconds. */
const OTHER_ENDS_MS = 10_000
const LOOK_EVERY_MS = 50

/**
 * Does what is left of a restore that was interrupted. Resolves with its journal, or with undefined
 * where there was none. Rejects with StartError where it cannot be finished. A process that is still
 * at it is waited for; one of another machine, as of a container that was killed, no longer than that:
 * a start must not hang on somebody who is gone, and each step may be done twice.
 */
export async function finishRestore(
  dir: string,
  patienceMs = OTHER_ENDS_MS,
): Promise<FinishedRestore | undefined> {
  const journal = readJournal(dir)
  if (journal === undefined) return undefined
  const file = path.join(dir, JOURNAL_NAME)
  try {
    await otherEnds(dir, patienceMs)
    if (!isDecided(dir)) return { ...journal, warnings: [] }
    using _lock = lockRestore(dir, { over: true })
    // While it was waited for, that restore may have ended, and another one begun and been killed.
    const left = readJournal(dir)
    if (left === undefined) return { ...journal, warnings: [] }
    return { ...left, warnings: await apply(dir, left, disk) }
  } catch (cause) {
    if (cause instanceof StartError) throw cause
    // It is not interrupted but at work: a supervisor tries again, and finds it done.
    if (cause instanceof BackupError) throw new StartError(cause.message, 1, { cause })
    throw notFinished(file, reasonOf(cause), cause, journal)
  }
}

/**
 * Asked once the state has been read: whether a restore came in between, so that some of what was
 * read is old and some new. One that only prepares finds this gateway there, and is refused.
 */
export function watchRestores(dir: string): () => boolean {
  const known = new Set(backupsBefore(dir))
  const during = restoringProcess(dir) !== undefined
  return () => {
    if (isDecided(dir)) return true
    if (restoringProcess(dir) !== undefined) return false
    return during || backupsBefore(dir).some((file) => !known.has(file))
  }
}

async function otherEnds(dir: string, patienceMs: number): Promise<void> {
  const end = performance.now() + patienceMs
  while (restoringProcess(dir) !== undefined && performance.now() < end) await delay(LOOK_EVERY_MS)
}

/**
 * The steps, the line of the audit log, and the end of the journal. Resolves with warnings: an audit
 * log that cannot be written stops nobody, here as elsewhere.
 */
export async function apply(dir: string, journal: Journal, calls: Disk): Promise<string[]> {
  for (const { target, staged } of journal.steps) {
    if (staged === null) await removeIfThere(target, calls)
    else await put(staged, target, calls)
  }
  const folders = new Set(journal.steps.map(({ target }) => path.dirname(target)))
  for (const folder of folders) await flushFolder(folder, calls)
  // A kill right behind this line writes it twice, which is better than not at all.
  const warnings = journal.audit === null ? [] : await note(journal.audit)
  await removeIfThere(path.join(dir, JOURNAL_NAME), calls)
  // The restore is done: a disk that cannot flush this tells so at the next write.
  await flushFolder(dir, calls).catch(() => {})
  return warnings
}

async function put(
  staged: { file: string; sha256: string },
  target: string,
  calls: Disk,
): Promise<void> {
  try {
    await calls.rename(staged.file, target)
  } catch (error) {
    // Not there: it was put in its place before the interruption.
    const done = codeOf(error) === 'ENOENT' && (await holds(target, staged.sha256))
    if (!done) throw error
  }
}

async function holds(file: string, sha256: string): Promise<boolean> {
  try {
    return (await sha256Of(file)) === sha256
  } catch {
    return false // not there: the caller tells what it was looking for
  }
}

async function removeIfThere(file: string, calls: Disk): Promise<void> {
  try {
    await calls.remove(file)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error // removed already, before the interruption
  }
}

async function note({ file, line }: { file: string; line: string }): Promise<string[]> {
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    const rights = rightsFor(file)
    await using handle = await open(file, APPEND, rights.mode)
    await appendLinesTo(handle, line)
    await giveRights(handle, rights)
    await handle.sync()
    return []
  } catch (error) {
    return [`the audit log ${file} does not tell of this restore: ${reasonOf(error)}`]
  }
}

function notFinished(file: string, why: string, cause?: unknown, journal?: Journal): StartError {
  const again =
    journal === undefined
      ? ''
      : `, or run \`ogw backup restore ${journal.backup}\` again as the user who began it, which does the rest first; or go back to what was before: move ${file} away and run \`ogw backup restore ${journal.undo}\``
  const message = `a restore was interrupted and cannot be finished (${file}): ${why}. Repair that and start again${again}`
  return new StartError(message, 78, { cause })
}
