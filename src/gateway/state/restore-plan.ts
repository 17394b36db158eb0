// What a restore would do to each file, decided before it does anything.

import { lstatSync, readFileSync } from 'node:fs'
import { BackupError } from './backup-error.ts'
import { besideOf, isRole } from './backup-manifest.ts'
import type { BackupRole } from './backup-manifest.ts'
import { besides, mainFiles } from './backup-sources.ts'
import type { Places } from './backup-sources.ts'
import type { Backup, BackupEntry } from './backup-verify.ts'
import { codeOf, reasonOf } from './disk.ts'
import { readText } from './document-form.ts'
import { isUsable, keysForm } from './keys-state.ts'
import { sha256Of } from './tally.ts'

export type ChangeKind =
  /** The file is as in the backup already. */
  | 'same'
  | 'replace'
  | 'create'
  /** There was no such file when the backup was made. */
  | 'remove'
  /** Left as it is on purpose. */
  | 'keep'

export interface Change {
  /** Within the backup; null where the file is removed. */
  entry: BackupEntry | null
  role: BackupRole
  /** Null where this config has no place for it. */
  path: string | null
  change: ChangeKind
  /** Why a file is kept; empty otherwise. */
  why: string
}

/** Whether a restore does anything there. */
export function isChange({ change }: Pick<Change, 'change'>): boolean {
  return change !== 'same' && change !== 'keep'
}

export interface PlanOptions {
  /** Replaces the config too. Default: the state alone. */
  withConfig: boolean
}

/** The config first, then the state files in the order of the backup, then what is removed. */
export async function planRestore(
  backup: Backup,
  places: Places,
  options: PlanOptions,
): Promise<Change[]> {
  const mains = new Map(mainFiles(places).map(({ role, file }) => [role, file]))
  const hasAudit = existing(mains.get('audit_file'), 'audit_file')
  const changes: Change[] = []
  for (const entry of backup.entries) {
    const main = mains.get(entry.role)
    const path = main === undefined ? null : main + besideOf(entry.name, entry.role)
    const kept = { entry, role: entry.role, path, change: 'keep' } as const
    const presentHash = path === null ? undefined : await hashOf(path)
    const change: ChangeKind =
      presentHash === undefined ? 'create' : presentHash === entry.sha256 ? 'same' : 'replace'
    const why = keptBecause(entry.role, { path, hasAudit, ...options })
    if (change !== 'same' && why !== '') changes.push({ ...kept, why })
    else changes.push({ ...kept, change, why: '' })
  }
  return [...changes, ...removals(backup, mains, options)]
}

function keptBecause(
  role: BackupRole,
  { path, hasAudit, withConfig }: { path: string | null; hasAudit: boolean } & PlanOptions,
): string {
  if (role === 'config' && !withConfig) return 'it differs; --with-config replaces it'
  // What was done since the backup was done: a restore must not make it unhappen in the record.
  if (role === 'audit_file' && hasAudit) return 'what was done since is not undone in the record'
  return path === null ? 'the config has no place for it' : ''
}

function removals(
  { manifest }: Backup,
  mains: ReadonlyMap<BackupRole, string>,
  { withConfig }: PlanOptions,
): Change[] {
  return manifest.absent.filter(isRole).flatMap((role): Change[] => {
    const path = mains.get(role)
    if (path === undefined || role === 'audit_file' || !existing(path, role)) return []
    if (role === 'config' && !withConfig) return []
    return [{ entry: null, role, path, change: 'remove', why: '' }]
  })
}

/**
 * Throws BackupError where the config moves the state to a place that has some: an undo brings back
 * one config with one state, and that is the present one.
 */
export function assertUndoable(changes: readonly Change[], before: Places, after: Places): void {
  const lost = changes.find(
    ({ role, change }) => role !== 'config' && (change === 'replace' || change === 'remove'),
  )
  if (lost === undefined) return
  const message = `the config in the backup keeps state in ${after.state.dir}, the present one in ${before.state.dir}, and ${lost.path} is there already: the restore could not be undone. Move ${after.state.dir} away, or restore the state alone, without --with-config`
  throw new BackupError('refused', message)
}

/** For the audit log its rotated files count too. */
function existing(path: string | undefined, role: BackupRole): boolean {
  if (path === undefined) return false
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return true
  return role === 'audit_file' && besides(role, path).length > 0
}

async function hashOf(file: string): Promise<string | undefined> {
  try {
    return await sha256Of(file)
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined
    throw new BackupError('failed', `cannot read ${file}: ${reasonOf(cause)}`, { cause })
  }
}

export interface KeysImpact {
  /** Ids of keys that let nobody in now and would again. */
  again: string[]
  /** Ids of keys that let somebody in now and would no more. */
  gone: string[]
}

/**
 * Who could come in, and who no more: a key that was revoked after the backup was made is the one
 * thing that nobody may bring back without being told. `now`: wall clock in milliseconds.
 */
export function keysImpact(backup: Backup, { state }: Places, now: number): KeysImpact {
  const present = usableKeys(state.keys_file === null ? undefined : textOf(state.keys_file), now)
  const next = usableKeys(backup.text('keys_file'), now)
  return {
    again: [...next.difference(present)],
    gone: [...present.difference(next)],
  }
}

function usableKeys(text: string | undefined, now: number): Set<string> {
  const read = text === undefined ? undefined : readText(text, keysForm)
  const keys = read?.ok === true ? read.value.keys : []
  return new Set(keys.filter((key) => isUsable(key, now)).map(({ id }) => id))
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined // not there, or judged where it is read for the restore itself
  }
}
