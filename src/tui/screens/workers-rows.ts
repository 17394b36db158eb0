// The workers as the operator filtered and sorted them.

import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { fitsFilter, parseFilter } from '../filter.ts'
import { memoLast } from '../memo.ts'
import { rulesInShort, workerState } from '../present/workers.ts'
import type { UiState } from '../state.ts'
import { sortRows } from './listing.ts'

export interface WorkerItem {
  id: string
  row: WorkerRow
}

export const WORKER_SORTS = {
  config: 'order of the config',
  name: 'name',
  state: 'state',
  slots: 'slots in use',
  queue: 'queue',
  vram: 'VRAM in use',
} as const

export function workerItems(
  { workers }: { workers: readonly WorkerRow[] },
  { screens }: UiState,
): readonly WorkerItem[] {
  const { filter, sort } = screens.workers
  return itemsOf(workers, filter, sort.by, sort.reverse)
}

const itemsOf = memoLast(
  (workers: readonly WorkerRow[], filter: string, by: string, reverse: boolean) => {
    const terms = parseFilter(filter)
    const items = workers
      .filter((row) =>
        fitsFilter(terms, {
          text: [row.name, row.why],
          worker: [row.name],
          state: [
            row.health,
            row.draining ? 'draining' : '',
            row.breaker.state,
            row.placement.mode,
          ],
          model: row.loaded.map(({ model }) => model),
        }),
      )
      .map((row): WorkerItem => ({ id: row.name, row }))
    return sortRows(items, valueOf(by), reverse)
  },
)

function valueOf(by: string): ((item: WorkerItem) => number | string | null) | undefined {
  switch (by) {
    case 'name':
      return ({ row }) => row.name
    case 'state':
      return ({ row }) => workerState(row).text
    case 'slots':
      return ({ row }) => -row.slots.used
    case 'queue':
      return ({ row }) => -row.queued
    case 'vram':
      return ({ row }) => -(vramShare(row) ?? 0)
    default:
      return undefined
  }
}

export function vramShare({ telemetry }: WorkerRow): number | undefined {
  const used = telemetry?.vram_used_bytes ?? null
  const total = telemetry?.vram_total_bytes ?? null
  return used === null || total === null || total === 0 ? undefined : used / total
}

/** `allow -2 +1`, short enough for a column. */
export function rulesShort({ placement }: WorkerRow): string {
  return rulesInShort(placement).replace('allow_all', 'allow').replace('whitelist', 'white')
}
