// One restore at a time: two would prepare the same files. The lock names its process, and when that
// began, so that one that was killed is in nobody's way, even where another has its number by now.

import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { z } from 'zod'
import { BackupError } from './backup-error.ts'
import { codeOf } from './disk.ts'

const LOCK_NAME = 'restore.lock'
/** Root may have it, and the gateway asks who. */
const READABLE = 0o644

const Holder = z.object({
  pid: z.int().positive(),
  host: z.string(),
  /** As `beginOf` says it. */
  begin: z.string().nullable(),
})
export type LockHolder = z.infer<typeof Holder>

export interface RestoreLock extends Disposable {
  /** Throws BackupError where another has taken a lock for a stale one at the same moment. */
  assertMine(): void
}

/**
 * Throws BackupError while another process has it, or the system's error. `over`: a holder of another
 * machine, of whom nobody can say whether it lives, is passed over.
 */
export function lockRestore(dir: string, { over = false } = {}): RestoreLock {
  const file = path.join(dir, LOCK_NAME)
  const other = restoringProcess(dir)
  if (other !== undefined && !(over && other.host !== hostname())) throw underWay(dir, other)
  rmSync(file, { force: true })
  const text = `${JSON.stringify({ pid: process.pid, host: hostname(), begin: beginOf(process.pid) })}\n`
  writeLock(file, dir, text)
  return {
    assertMine() {
      if (textOf(file) !== text) throw underWay(dir, restoringProcess(dir))
    },
    [Symbol.dispose]() {
      if (textOf(file) === text) rmSync(file, { force: true })
    },
  }
}

function writeLock(file: string, dir: string, text: string): void {
  let handle: number
  try {
    handle = openSync(file, 'wx', READABLE)
  } catch (cause) {
    if (codeOf(cause) === 'EEXIST') throw underWay(dir, restoringProcess(dir), cause)
    throw cause
  }
  try {
    writeSync(handle, text)
  } catch (error) {
    rmSync(file, { force: true }) // a full disk: half a lock says nothing
    throw error
  } finally {
    closeSync(handle)
  }
}

function underWay(dir: string, other: LockHolder | undefined, cause?: unknown): BackupError {
  const who = other === undefined ? '' : ` (process ${other.pid} on ${other.host})`
  const stale =
    other === undefined || other.host === hostname()
      ? ''
      : `; if there is no such process, remove ${path.join(dir, LOCK_NAME)}`
  const message = `a restore is under way in ${dir}${who}: wait for its end${stale}`
  return new BackupError('refused', message, { cause })
}

/** The process that restores now; undefined = none does. Of another machine it is believed. */
export function restoringProcess(dir: string): LockHolder | undefined {
  const holder = holderOf(textOf(path.join(dir, LOCK_NAME)))
  if (holder === undefined || holder.host !== hostname()) return holder
  return isAlive(holder) ? holder : undefined
}

/** Undefined where there is none, or half of one: its process was killed, or the power failed. */
function holderOf(text: string | undefined): LockHolder | undefined {
  try {
    return Holder.safeParse(JSON.parse(text ?? '')).data
  } catch {
    return undefined // no JSON, and so no lock that anybody holds
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined // none, or one that nobody may read, which is no gateway's
  }
}

function isAlive({ pid, begin }: LockHolder): boolean {
  const found = beginOf(pid)
  if (begin !== null && found !== null) return begin === found
  // Without /proc only the number is known. This process holds no lock when it asks.
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM' // there, and of somebody else
  }
}

/**
 * The boot, and the ticks since then at which the process began: numbers of processes come again, in
 * a container at each of its starts. Null where the process is gone or the system does not say.
 */
function beginOf(pid: number): string | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may hold anything: fields are counted behind it.
    const ticks = text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
    return ticks === undefined ? null : `${boot} ${ticks}`
  } catch {
    return null
  }
}
