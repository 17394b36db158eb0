// How often names came up in the last hour, minute by minute. Names come from strangers: so many
// are told apart within one minute, and no more.

import type { Clock } from '../clock.ts'

const MINUTE_MS = 60_000
const MINUTES = 60
const NAMES_PER_MINUTE = 2_000

export class HourCounts {
  readonly #clock: Clock
  readonly #minutes = new Map<number, Map<string, number>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(name: string): void {
    const minute = this.#minute()
    const counts = this.#minutes.get(minute) ?? new Map<string, number>()
    this.#minutes.set(minute, counts)
    if (!counts.has(name) && counts.size >= NAMES_PER_MINUTE) return
    counts.set(name, (counts.get(name) ?? 0) + 1)
    this.#minutes.delete(minute - MINUTES)
  }

  sums(): Map<string, number> {
    const first = this.#minute() - MINUTES
    const sums = new Map<string, number>()
    for (const [minute, counts] of this.#minutes) {
      if (minute <= first) this.#minutes.delete(minute)
      else for (const [name, count] of counts) sums.set(name, (sums.get(name) ?? 0) + count)
    }
    return sums
  }

  #minute(): number {
    return Math.floor(this.#clock.mono() / MINUTE_MS)
  }
}
