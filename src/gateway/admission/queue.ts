// Those who wait: the fair order with what each waiter needs to be woken, refused or forgotten.
// A waiter leaves the queue in the same step in which it is settled, whatever settles it.

import type { Clock, Timer } from '../clock.ts'
import { FairQueue } from '../policy/fair-queue.ts'
import type { Correction, Place } from '../policy/fair-queue.ts'
import type { ModelName } from '../policy/model-name.ts'
import type { Ask, Lease } from './ask.ts'

export interface Waiter {
  readonly ask: Ask
  readonly place: Place
  /** Monotonic time it began to wait. */
  readonly since: number
  readonly signal: AbortSignal
  /** Unknown inventories are no candidates for it. */
  knownOnly: boolean
  /** How often, and since when, a waiter for a loaded model went before its load. */
  overtaken: number
  overtakenSince: number | undefined
}

interface Ends {
  resolve(lease: Lease): void
  reject(error: unknown): void
  timer: Timer
  onAbort: () => void
}

/** A waiter's load may be passed over so often, and for so long. */
const MAX_PASSED_OVER = 8
const MAX_PASSED_OVER_MS = 10_000

export class WaitQueue {
  readonly #clock: Clock
  readonly #fair = new FairQueue<Waiter>()
  readonly #ends = new Map<Waiter, Ends>()
  readonly #byModel = new Map<string, { model: ModelName; waiting: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#ends.size
  }

  /** In the order of entry. */
  all(): Waiter[] {
    return [...this.#ends.keys()]
  }

  /** Model key → requests that wait for it. */
  byModel(): ReadonlyMap<string, number> {
    return new Map([...this.#byModel].map(([key, { waiting }]) => [key, waiting]))
  }

  waitingFor(modelKey: string): number {
    return this.#byModel.get(modelKey)?.waiting ?? 0
  }

  /** The models that anybody waits for. */
  models(): ModelName[] {
    return [...this.#byModel.values()].map(({ model }) => model)
  }

  inOrder(): Generator<Waiter> {
    return this.#fair.inOrder(this.#clock.mono())
  }

  mostOverShare(newcomer: Place) {
    return this.#fair.mostOverShare(newcomer)
  }

  /** Charges a request that never had to wait. */
  charge(place: Place): Correction {
    return this.#fair.charge(place)
  }

  /** Charges a waiter that goes now. */
  serve(waiter: Waiter): Correction | undefined {
    return this.#fair.serve(waiter)
  }

  /** Resolves with a lease, or rejects with the signal's reason or what `onDeadline` makes. */
  add(waiter: Waiter, onDeadline: () => Error): Promise<Lease> {
    const { ask, signal } = waiter
    const { promise, resolve, reject } = Promise.withResolvers<Lease>()
    const onAbort = (): void => void this.reject(waiter, signal.reason)
    const wait = Math.max(0, ask.waitUntil - this.#clock.mono())
    const timer = this.#clock.after(wait, () => this.#expire(waiter, onDeadline))
    this.#ends.set(waiter, { resolve, reject, timer, onAbort })
    this.#fair.add(waiter, waiter.place)
    this.#count(ask.model, 1)
    signal.addEventListener('abort', onAbort, { once: true })
    return promise
  }

  /** To one that is served. */
  grant(waiter: Waiter, lease: Lease): void {
    this.#leave(waiter)?.resolve(lease)
  }

  /** False if it does not wait any more. */
  reject(waiter: Waiter, error: unknown): boolean {
    this.#fair.remove(waiter)
    const ends = this.#leave(waiter)
    ends?.reject(error)
    return ends !== undefined
  }

  /** It is out before its error is made, which tells how many others wait. */
  #expire(waiter: Waiter, onDeadline: () => Error): void {
    this.#fair.remove(waiter)
    this.#leave(waiter)?.reject(onDeadline())
  }

  #leave(waiter: Waiter): Ends | undefined {
    const ends = this.#ends.get(waiter)
    if (ends === undefined) return undefined
    this.#ends.delete(waiter)
    ends.timer.cancel()
    waiter.signal.removeEventListener('abort', ends.onAbort)
    this.#count(waiter.ask.model, -1)
    return ends
  }

  #count(model: ModelName, more: number): void {
    const waiting = this.waitingFor(model.key) + more
    if (waiting > 0) this.#byModel.set(model.key, { model, waiting })
    else this.#byModel.delete(model.key)
  }
}

/** Whether one more waiter for a loaded model may go before this one's load. */
export function mayBePassedOver({ overtaken, overtakenSince }: Waiter, now: number): boolean {
  if (overtaken >= MAX_PASSED_OVER) return false
  return overtakenSince === undefined || now - overtakenSince < MAX_PASSED_OVER_MS
}
