// Time as a cause: holds, breakers and cool-downs that end let waiters go, and a load that has not
// begun on an idle worker is freed. One timer, set to the next time that matters.

import type { Clock, Timer } from '../clock.ts'
import { nextTryAt } from '../policy/breaker.ts'
import { STUCK_AFTER_MS, stuckVictim } from '../policy/pending-load.ts'
import type { Row } from './fleet-rows.ts'
import type { SchedulerEffects } from './effects.ts'

export interface WakeupDeps {
  clock: Clock
  effects: SchedulerEffects
  /** Called when a time has come. */
  onDue(): void
}

/** A stuck load is looked at again so soon, until /api/ps has been read. */
const LOOK_AGAIN_MS = 1_000

export class Wakeups {
  readonly #deps: WakeupDeps
  #timer: Timer | undefined
  #at = Number.POSITIVE_INFINITY
  #stopped = false
  #rows: readonly Row[] = []

  constructor(deps: WakeupDeps) {
    this.#deps = deps
  }

  /** `waited` tells whether anyone waits: without waiters only stuck loads matter. */
  plan(rows: readonly Row[], waited: boolean): void {
    if (this.#stopped) return
    this.#rows = rows
    const now = this.#deps.clock.mono()
    let next = Number.POSITIVE_INFINITY
    for (const row of rows) {
      next = Math.min(next, stuckAt(row, now))
      if (waited) next = Math.min(next, freeAt(row, now))
    }
    if (next === this.#at) return
    this.#timer?.cancel()
    this.#at = next
    this.#timer = Number.isFinite(next)
      ? this.#deps.clock.after(next - now, () => this.#due())
      : undefined
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  #due(): void {
    this.#timer = undefined
    this.#at = Number.POSITIVE_INFINITY
    for (const row of this.#rows) this.#freeStuckLoad(row)
    this.#deps.onDue()
  }

  #freeStuckLoad({ worker, slots }: Row): void {
    const now = this.#deps.clock.mono()
    const { pendingLoad } = slots
    if (pendingLoad === undefined) return
    const unloaded = stuckVictim(pendingLoad, worker.loaded, now)
    if (unloaded === undefined) return
    slots.unstuck(now)
    const { effects } = this.#deps
    try {
      effects.unload(worker.name, unloaded)
      effects.event('load.stuck', { worker: worker.name, model: pendingLoad.key, unloaded })
    } catch {
      // Slots and queue are right whatever a sink throws; the load is looked at again later.
    }
  }
}

/** Monotonic time to look whether a pending load is stuck. */
function stuckAt({ slots: { pendingLoad } }: Row, now: number): number {
  const idleSince = pendingLoad?.idleSince
  if (idleSince === undefined) return Number.POSITIVE_INFINITY
  const at = idleSince + STUCK_AFTER_MS
  if (at > now) return at
  return at + LOOK_AGAIN_MS * (Math.floor((now - at) / LOOK_AGAIN_MS) + 1)
}

/** The next time at which the worker may take what it may not take now. */
function freeAt({ worker, slots }: Row, now: number): number {
  let next = Number.POSITIVE_INFINITY
  const consider = (at: number | undefined): void => {
    if (at !== undefined && at > now) next = Math.min(next, at)
  }
  consider(nextTryAt(worker.breaker))
  for (const [key, until] of slots.holds) {
    if (until <= now) slots.holds.delete(key)
    else consider(until)
  }
  for (const { until } of worker.loadCoolDowns.values()) consider(until)
  return next
}
