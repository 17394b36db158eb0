// The workers beside their slots, and what has changed about them since the scheduler last looked.
// The fleet changes its records in place, so what gates depend on is compared field by field.

import type { Worker } from '../fleet/worker.ts'
import type { Candidate } from '../policy/eligibility.ts'
import { WorkerSlots } from './worker-slots.ts'

/** What the scheduler reads of the fleet. `worker` is undefined where all may have changed. */
export interface FleetView {
  workers(): readonly Worker[]
  onChange(listener: (event: unknown, worker: Worker | undefined) => void): () => void
}

export interface Row extends Candidate {
  readonly slots: WorkerSlots
  /** Place among all rows. */
  readonly index: number
  /** Grows with each change of the record that gates or scores depend on. */
  version: number
}

/** What a change means: for everyone who waits, for what that one worker can take, or how well. */
export type RowChange = 'none' | 'score' | 'capacity' | 'gates'

interface Seen {
  gates: readonly unknown[]
  capacity: readonly unknown[]
  score: unknown
}

export class FleetRows {
  readonly #fleet: Pick<FleetView, 'workers'>
  /** Slots outlive the record: requests may still run on a worker that left the config. */
  readonly #slots = new Map<string, WorkerSlots>()
  readonly #seen = new Map<string, Seen>()
  #workers: readonly Worker[] = []
  #rows: readonly Row[] = []
  #byName = new Map<string, Row>()

  constructor(fleet: Pick<FleetView, 'workers'>) {
    this.#fleet = fleet
  }

  /** The rows as of now, in the order of the config. */
  all(): readonly Row[] {
    if (this.#fleet.workers() !== this.#workers) this.#rebuild()
    return this.#rows
  }

  byName(name: string): Row | undefined {
    this.all()
    return this.#byName.get(name)
  }

  slotsOf(name: string): WorkerSlots | undefined {
    return this.#slots.get(name)
  }

  /** Compares with the last look and remembers this one. */
  look(row: Row): RowChange {
    const { worker } = row
    const before = this.#seen.get(worker.name)
    const now = seenOf(worker)
    this.#seen.set(worker.name, now)
    const change = changeBetween(before, now)
    if (change !== 'none') row.version += 1
    return change
  }

  #rebuild(): void {
    this.#workers = this.#fleet.workers()
    this.#rows = this.#workers.map((worker, index) => {
      const slots = this.#slots.get(worker.name) ?? new WorkerSlots()
      this.#slots.set(worker.name, slots)
      return { worker, slots, index, version: 1 }
    })
    this.#byName = new Map(this.#rows.map((row) => [row.worker.name, row]))
    for (const [name, { inFlight }] of this.#slots) {
      if (inFlight > 0 || this.#byName.has(name)) continue
      this.#slots.delete(name)
      this.#seen.delete(name)
    }
  }
}

function seenOf(worker: Worker): Seen {
  const { health, inventory, loaded } = worker
  return {
    gates: [
      health.state,
      worker.draining,
      worker.placement,
      inventory.state === 'known' ? inventory.models : undefined,
      worker.config,
      worker.info,
    ],
    capacity: [
      worker.breaker,
      worker.loadCoolDowns,
      loaded.state === 'known' ? loaded.models : undefined,
      loaded.state === 'known' ? loaded.readAt : undefined,
    ],
    score: worker.rates,
  }
}

function changeBetween(before: Seen | undefined, now: Seen): RowChange {
  if (before === undefined || !sameValues(before.gates, now.gates)) return 'gates'
  if (!sameValues(before.capacity, now.capacity)) return 'capacity'
  return before.score === now.score ? 'none' : 'score'
}

function sameValues(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.every((value, i) => value === b[i])
}
