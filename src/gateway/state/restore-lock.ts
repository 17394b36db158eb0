// One restore at a time: two would prepare the same files. The lock names its process, so that one
// that was killed is in nobody's way.

import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { BackupError } from './backup-error.ts'
import { codeOf } from './disk.ts'

const LOCK_NAME = 'restore.lock'
/** Root may have it, and the gateway asks who. */
const READABLE = 0o644

/** Throws BackupError while another process has it, or the system's error. */
export function lockRestore(dir: string): Disposable {
  const file = path.join(dir, LOCK_NAME)
  const other = restoringProcess(dir)
  if (other === undefined) rmSync(file, { force: true })
  let handle: number
  try {
    handle = openSync(file, 'wx', READABLE)
  } catch (cause) {
    if (codeOf(cause) !== 'EEXIST') throw cause
    const message = `a restore is under way in ${dir} (process ${other ?? 'unknown'}): wait for its end; if there is no such process, remove ${file}`
    throw new BackupError('refused', message, { cause })
  }
  writeSync(handle, `${process.pid} ${hostname()}\n`)
  closeSync(handle)
  return { [Symbol.dispose]: () => rmSync(file, { force: true }) }
}

/** The process that restores now; undefined = none does. Of another machine it is believed. */
function restoringProcess(dir: string): number | undefined {
  let text: string
  try {
    text = readFileSync(path.join(dir, LOCK_NAME), 'utf8')
  } catch {
    return undefined // none, or one that nobody may read, which is no gateway's
  }
  const [pid = '', host] = text.trim().split(' ')
  return host !== hostname() || isAlive(Number(pid)) ? Number(pid) : undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM' // there, and of somebody else
  }
}
