// The backups of what was before a restore: where a new one goes, which are there, and how many of
// them are kept.

import { readdirSync, realpathSync, unlinkSync } from 'node:fs'
import path from 'node:path'

const NAME = /^before-restore-\d{8}T\d{9}Z\.zip$/

/** So many are kept, the newest. */
const KEPT = 5

/** Where the one of now goes. */
export function backupBefore(dir: string, now: Date): string {
  return path.join(dir, `before-restore-${now.toISOString().replaceAll(/[-:.]/g, '')}.zip`)
}

/** Those that are there, the oldest first; none where there is no folder that can be read. */
export function backupsBefore(dir: string): string[] {
  try {
    return listed(dir)
  } catch {
    return [] // whoever has to read or write the folder itself tells what is wrong with it
  }
}

/** Those that a killed process left half written. Throws the system's error. */
export function halfBackupsBefore(dir: string): string[] {
  const names = readdirSync(dir).filter((name) => NAME.test(name.replace(/\.tmp$/, '')))
  return names.filter((name) => name.endsWith('.tmp')).map((name) => path.join(dir, name))
}

/** Removes the oldest but those in use, whatever the names of these say. Throws the system's error. */
export function pruneBackupsBefore(dir: string, inUse: readonly string[]): void {
  const kept = inUse.map((file) => realpathSync(file))
  for (const file of listed(dir).slice(0, -KEPT)) {
    if (!kept.includes(realpathSync(file))) unlinkSync(file)
  }
}

function listed(dir: string): string[] {
  const names = readdirSync(dir).filter((name) => NAME.test(name))
  return names.toSorted().map((name) => path.join(dir, name))
}
