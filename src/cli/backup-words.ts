// What `ogw backup` says: as documents for scripts, and as tables and sentences for people.

import type { Manifest } from '../gateway/state/backup-manifest.ts'
import type { Backup } from '../gateway/state/backup-verify.ts'
import { isChange } from '../gateway/state/restore-plan.ts'
import type { Change, KeysImpact } from '../gateway/state/restore-plan.ts'
import { cell, foreign } from '../tui/present/cell.ts'
import type { Cell, TableView } from '../tui/present/cell.ts'
import { bytes } from '../tui/present/units.ts'

export interface CreatedRow {
  file: string
  size_bytes: number
  created_at: string
  /** Whether a running gateway has written what it had in memory first. */
  gateway: 'running' | 'stopped'
  config_file: string | null
  state_dir: string
  entries: Manifest['entries']
  absent: string[]
}

export function createdWords({ size_bytes, gateway, ...row }: CreatedRow): string[] {
  const { entries, config_file, state_dir } = row
  const config = config_file === null ? 'no config file' : `the config ${config_file}`
  const count = entries.filter(({ role }) => role !== 'config').length
  const of = gateway === 'running' ? ', of the running gateway up to this moment' : ''
  return [
    `holds ${config} and ${count} state files of ${state_dir}${of}; ${bytes(size_bytes)}`,
    ...entries
      .filter(({ problem }) => problem !== null)
      .map(({ path, problem }) => `warning: ${path}: ${problem}; it is in the backup as it is`),
    ...(count === 0 ? ['warning: there was no state file yet'] : []),
  ]
}

export interface RestoredRow {
  backup: { file: string; created_at: string; host: string; ogw_version: string }
  state_dir: string
  dry_run: boolean
  changes: {
    name: string
    path: string | null
    change: Change['change']
    size_bytes: number | null
    why: string
  }[]
  /** Ids of keys that would let somebody in again, and of those that no more would. */
  keys: KeysImpact
  /** Brings back what was before; null where nothing was changed. */
  undo: string | null
}

export function restoredRow(
  { file, manifest }: Backup,
  changes: readonly Change[],
  rest: Pick<RestoredRow, 'state_dir' | 'dry_run' | 'keys' | 'undo'>,
): RestoredRow {
  const { created_at, host, ogw_version } = manifest
  return {
    backup: { file, created_at, host, ogw_version },
    ...rest,
    changes: changes.map(({ role, path, change, entry, why }) => ({
      name: role,
      path,
      change,
      size_bytes: entry?.size ?? null,
      why,
    })),
  }
}

const CHANGE_CELLS: Readonly<Record<Change['change'], Cell>> = {
  same: cell('same', 'dim'),
  replace: cell('replace', 'warn'),
  create: cell('create', 'good'),
  remove: cell('remove', 'bad'),
  keep: cell('keep', 'dim'),
}

export function presentChanges({ changes }: RestoredRow): TableView {
  return {
    columns: [
      { header: 'NAME' },
      { header: 'CHANGE' },
      { header: 'SIZE', align: 'right' },
      { header: 'PATH', cut: 'middle' },
    ],
    rows: changes.map(({ name, change, size_bytes, path }) => [
      foreign(name),
      CHANGE_CELLS[change],
      cell(bytes(size_bytes)),
      foreign(path),
    ]),
  }
}

/** What an operator has to know before saying yes. */
export function planWords({ backup, keys, state_dir, changes }: RestoredRow): string[] {
  const { created_at, host, ogw_version, file } = backup
  return [
    `${file} is whole: made ${created_at} on ${host} by ogw ${ogw_version}; state goes to ${state_dir}`,
    ...(keys.again.length > 0
      ? [
          `warning: keys that let nobody in now, and would again: ${keys.again.join(', ')}; revoke those that must not, after the start`,
        ]
      : []),
    ...(keys.gone.length > 0
      ? [`warning: keys that let somebody in now, and would no more: ${keys.gone.join(', ')}`]
      : []),
    ...changes.filter(({ why }) => why !== '').map(({ name, why }) => `${name} is kept: ${why}`),
  ]
}

/** What the question is about. */
export function changeWords({ changes }: RestoredRow): string[] {
  return changes.filter(isChange).map(({ change, path }) => `  ${change.padEnd(7)} ${path}`)
}
