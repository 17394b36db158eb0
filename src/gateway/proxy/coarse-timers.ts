// Deadlines of many short-lived things by one timer. A request has several that nearly never come
// due; a timer of its own for each would cost more than what it guards. Late by at most a step.

import type { Clock } from '../clock.ts'

/** Milliseconds between two looks; only while something is watched. */
const STEP_MS = 50

export interface Deadline {
  /** Monotonic milliseconds; may be moved at any time. */
  dueAt: number
  /** Called once dueAt has passed, and again each step until it is moved or unwatched. */
  onDue(): void
}

class CoarseTimers {
  readonly #clock: Clock
  readonly #watched = new Set<Deadline>()
  #running = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  watch(deadline: Deadline): void {
    this.#watched.add(deadline)
    if (this.#running) return
    this.#running = true
    this.#clock.after(STEP_MS, () => this.#look())
  }

  unwatch(deadline: Deadline): void {
    this.#watched.delete(deadline)
  }

  #look(): void {
    const now = this.#clock.mono()
    for (const deadline of this.#watched) if (deadline.dueAt <= now) deadline.onDue()
    this.#running = this.#watched.size > 0
    if (this.#running) this.#clock.after(STEP_MS, () => this.#look())
  }
}

const byClock = new WeakMap<Clock, CoarseTimers>()

/** The timers of a clock; one set serves everybody who has it. */
export function coarseTimersOf(clock: Clock): CoarseTimers {
  const known = byClock.get(clock)
  if (known !== undefined) return known
  const made = new CoarseTimers(clock)
  byClock.set(clock, made)
  return made
}
