// Which edit an undo takes back, and whether it still can. Pure.

import { sameRules } from '../policy/placement-edit.ts'
import type { Override } from '../policy/placement-edit.ts'
import type { HistoryEntry } from './placement-history.ts'

export type UndoChoice =
  | { ok: true; entry: HistoryEntry }
  | { ok: false; code: 'not_found' | 'conflict'; reason: string; by?: HistoryEntry }

/**
 * Without an id: the newest edit that is no undo and was not undone, so that repeated undos walk
 * back. With an id: that edit, unless its workers were edited since.
 */
export function chooseUndo(
  entries: readonly HistoryEntry[],
  id: number | undefined,
  overrideOf: (worker: string) => Override,
): UndoChoice {
  const undone = undoneIds(entries)
  const standing = entries.filter(({ id: each, undoes }) => undoes === null && !undone.has(each))
  const entry = id === undefined ? standing.at(-1) : entries.find(({ id: each }) => each === id)
  if (entry === undefined) {
    const reason =
      id === undefined
        ? 'there is no edit that could be undone'
        : `the history has no edit ${id}; \`ogw placement history\` lists them`
    return { ok: false, code: 'not_found', reason }
  }
  if (undone.has(entry.id)) {
    return { ok: false, code: 'conflict', reason: `edit ${entry.id} is undone already` }
  }
  return checkUnchanged(entry, standing, overrideOf)
}

function checkUnchanged(
  entry: HistoryEntry,
  standing: readonly HistoryEntry[],
  overrideOf: (worker: string) => Override,
): UndoChoice {
  const workers = new Set(entry.after.map(({ worker }) => worker))
  const later = standing.findLast(
    ({ id, after }) => id > entry.id && after.some(({ worker }) => workers.has(worker)),
  )
  if (later !== undefined) {
    const reason = `edit ${entry.id} cannot be undone: ${later.actor} changed the same worker since (edit ${later.id}, ${later.operation}); undo that first`
    return { ok: false, code: 'conflict', reason, by: later }
  }
  const moved = entry.after.find(({ worker, rules }) => !isSame(overrideOf(worker), rules))
  if (moved === undefined) return { ok: true, entry }
  const reason = `edit ${entry.id} cannot be undone: the rules of ${moved.worker} are not those that it left`
  return { ok: false, code: 'conflict', reason }
}

/** An undo that was itself undone no longer counts: walked from the newest to the oldest. */
function undoneIds(entries: readonly HistoryEntry[]): Set<number> {
  const undone = new Set<number>()
  for (const { id, undoes } of entries.toReversed()) {
    if (undoes !== null && !undone.has(id)) undone.add(undoes)
  }
  return undone
}

function isSame(override: Override, rules: HistoryEntry['after'][number]['rules']): boolean {
  if (override === undefined || rules === null) return override === undefined && rules === null
  return sameRules(override, rules)
}
