// What requests of the last minute come to, second by second.

import type { Clock } from '../clock.ts'

export const WINDOW_S = 60

export interface Sums {
  requests: number
  tokens: number
  errors: number
}

export class MinuteSums {
  readonly #clock: Clock
  #seconds: (Sums & { at: number })[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** One request that ended now. */
  add({ tokens, failed = false }: { tokens: number; failed?: boolean }): void {
    const at = this.#second()
    let second = this.#seconds.at(-1)
    if (second?.at !== at) {
      second = { at, requests: 0, tokens: 0, errors: 0 }
      this.#seconds.push(second)
      if (this.#seconds.length > WINDOW_S) this.#seconds.shift()
    }
    second.requests += 1
    second.tokens += tokens
    if (failed) second.errors += 1
  }

  sums(): Sums {
    const since = this.#second() - WINDOW_S
    const sums = { requests: 0, tokens: 0, errors: 0 }
    this.#seconds = this.#seconds.filter(({ at }) => at > since)
    for (const { requests, tokens, errors } of this.#seconds) {
      sums.requests += requests
      sums.tokens += tokens
      sums.errors += errors
    }
    return sums
  }

  #second(): number {
    return Math.floor(this.#clock.mono() / 1000)
  }
}
