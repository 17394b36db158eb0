// Applies one change of the watch stream to the snapshot before it. Pure; rows that did not change
// keep their identity, so that a console redraws only what differs.

import type { Snapshot, WatchLine } from './schema/snapshot.ts'

type Change = Extract<WatchLine, { type: 'change' }>

/** Events that the snapshot keeps, the newest. */
export const EVENTS_KEPT = 200

export function mergeChange(before: Snapshot, change: Change): Snapshot {
  const access = change.access ?? before.access
  return {
    mono: change.mono,
    gateway: change.gateway ?? before.gateway,
    traffic: change.traffic ?? before.traffic,
    placement: change.placement ?? before.placement,
    workers: mergeRows(before.workers, change.workers, workerOrder),
    models: mergeRows(before.models, change.models, modelOrder),
    requests: mergeRows(before.requests, change.requests, requestOrder),
    ...(access !== undefined && { access }),
    ...(before.tenants !== undefined && {
      tenants: mergeRows(before.tenants, change.tenants, tenantOrder),
    }),
    events:
      change.events === undefined
        ? before.events
        : [...before.events, ...change.events].slice(-EVENTS_KEPT),
  }
}

interface Order<T> {
  nameOf: (row: T) => string
  compare: (a: T, b: T) => number
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const workerOrder: Order<Snapshot['workers'][number]> = {
  nameOf: (row) => row.name,
  compare: (a, b) => a.index - b.index,
}
const modelOrder: Order<Snapshot['models'][number]> = {
  nameOf: (row) => row.model,
  compare: (a, b) => byText(a.model, b.model),
}
const requestOrder: Order<Snapshot['requests'][number]> = {
  nameOf: (row) => row.id,
  compare: (a, b) => a.entered_mono - b.entered_mono || byText(a.id, b.id),
}
const tenantOrder: Order<NonNullable<Snapshot['tenants']>[number]> = {
  nameOf: (row) => row.name,
  compare: (a, b) => byText(a.name, b.name),
}

function mergeRows<T>(
  rows: readonly T[],
  change: { set: readonly T[]; gone: readonly string[] } | undefined,
  { nameOf, compare }: Order<T>,
): T[] {
  if (change === undefined) return rows as T[] // the same array: nothing in it differs
  const byName = new Map(rows.map((row) => [nameOf(row), row]))
  for (const name of change.gone) byName.delete(name)
  for (const row of change.set) byName.set(nameOf(row), row)
  return [...byName.values()].toSorted(compare)
}
