// One cell of the matrix: what placement says of a model on a worker, and what is there.

import type { Cell } from '../../contract/schema/placement.ts'
import type { Worker } from '../../fleet/worker.ts'
import { decidePlacement } from '../../policy/placement.ts'
import type { CompiledPlacement } from '../../policy/placement.ts'
import { cellState } from '../../policy/placement-impact.ts'

/** A model as the matrix names it. */
export interface KnownModel {
  /** The spelling of the first worker that has it. */
  name: string
  key: string
  cloud: boolean
}

export function cellOf(worker: Worker, model: KnownModel, placement = worker.placement): Cell {
  const { allowed, decidedBy } = decidePlacement(placement, model.key, model)
  const presence = presenceOf(worker, model.key)
  return {
    worker: worker.name,
    state: cellState(allowed, presence),
    exact: decidedBy.kind === 'exact',
    presence,
    down: worker.health.state === 'down',
  }
}

export function presenceOf({ inventory, loaded }: Worker, key: string): Cell['presence'] {
  if (loaded.state === 'known' && loaded.models.has(key)) return 'loaded'
  if (inventory.state === 'unknown') return 'unknown'
  return inventory.models.has(key) ? 'installed' : 'absent'
}

export function isAllowed(placement: CompiledPlacement, model: KnownModel): boolean {
  return decidePlacement(placement, model.key, model).allowed
}
