// What an edit of placement rules does to the fleet: cells that change, models that no worker could
// run any more, requests of the last hour that would be refused. Pure.

import { decidePlacement } from './placement.ts'
import type { CompiledPlacement, SourceClass } from './placement.ts'

export interface ImpactModel extends SourceClass {
  name: string
  key: string
}

export interface ImpactWorker {
  name: string
  before: CompiledPlacement
  after: CompiledPlacement
  /** What is there of that model, whatever placement says. */
  presence(key: string): Presence
}

export type Presence = 'loaded' | 'installed' | 'absent' | 'unknown'
export type CellState = 'loaded' | 'installed' | 'allowed' | 'unknown' | 'blocked'

export interface Impact {
  changes: { model: string; worker: string; before: CellState; after: CellState }[]
  /** Newly so: what was out of reach before is not this edit's doing. */
  orphaned: string[]
  refusedLastHour: number
}

/** `demand` is the number of requests of the last hour by canonical model key. */
export function placementImpact(
  models: readonly ImpactModel[],
  workers: readonly ImpactWorker[],
  demand: ReadonlyMap<string, number>,
): Impact {
  const edited = workers.filter(({ before, after }) => before !== after)
  const changes = models.flatMap((model) => edited.flatMap((worker) => changeOf(worker, model)))
  const touched = new Set(changes.map(({ model }) => model))
  const candidates = models.filter(({ name }) => touched.has(name))
  return {
    changes,
    orphaned: candidates
      .filter((model) => isLost(model, workers, ['loaded', 'installed']))
      .map(({ name }) => name),
    refusedLastHour: candidates
      .filter((model) => isLost(model, workers, ['loaded', 'installed', 'unknown']))
      .reduce((sum, { key }) => sum + (demand.get(key) ?? 0), 0),
  }
}

export function cellState(allowed: boolean, presence: Presence): CellState {
  if (!allowed) return 'blocked'
  return presence === 'absent' ? 'allowed' : presence
}

function changeOf(worker: ImpactWorker, model: ImpactModel): Impact['changes'] {
  const presence = worker.presence(model.key)
  const before = cellState(isAllowed(worker.before, model), presence)
  const after = cellState(isAllowed(worker.after, model), presence)
  return before === after ? [] : [{ model: model.name, worker: worker.name, before, after }]
}

/** Some worker has it and may run it before the edit, and none does after it. */
function isLost(
  model: ImpactModel,
  workers: readonly ImpactWorker[],
  having: readonly Presence[],
): boolean {
  const holders = workers.filter(({ presence }) => having.includes(presence(model.key)))
  return (
    holders.some(({ before }) => isAllowed(before, model)) &&
    !holders.some(({ after }) => isAllowed(after, model))
  )
}

function isAllowed(placement: CompiledPlacement, model: ImpactModel): boolean {
  return decidePlacement(placement, model.key, model).allowed
}
