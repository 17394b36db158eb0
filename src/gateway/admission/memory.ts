// What admission remembers of requests that are over: decisions by request, the worker on which a
// conversation ran last, and how long requests take. All bounded, the oldest forgotten first.

import type { Decision } from './ask.ts'

const MAX_DECISIONS = 2_000
/** Of one request: a busy worker can send it back to the queue many times. */
const MAX_DECISIONS_EACH = 16
const MAX_CONVERSATIONS = 10_000
const MAX_MODELS = 2_000

/** Weight of the newest service time in the mean. */
const NEWEST_WEIGHT = 0.2

/** Assumed for a model of which nothing has ended yet. */
const UNKNOWN_SERVICE_MS = 10_000

/** A map that forgets what was written longest ago. */
class Bounded<V> {
  readonly #entries = new Map<string, V>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)
  }

  set(key: string, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#most) return
    const oldest = this.#entries.keys().next()
    if (oldest.done !== true) this.#entries.delete(oldest.value)
  }
}

export class AdmissionMemory {
  readonly #decisions = new Bounded<readonly Decision[]>(MAX_DECISIONS)
  readonly #conversations = new Bounded<string>(MAX_CONVERSATIONS)
  readonly #serviceMs = new Bounded<number>(MAX_MODELS)

  /** Oldest first: one request is decided anew with each attempt. */
  decisionsOf(requestId: string): readonly Decision[] {
    return this.#decisions.get(requestId) ?? []
  }

  noteDecision(requestId: string, decision: Decision): void {
    const before = this.decisionsOf(requestId).slice(1 - MAX_DECISIONS_EACH)
    this.#decisions.set(requestId, [...before, decision])
  }

  workerOf(modelKey: string, affinity: string | undefined): string | undefined {
    return affinity === undefined ? undefined : this.#conversations.get(`${modelKey} ${affinity}`)
  }

  noteWorker(modelKey: string, affinity: string | undefined, worker: string): void {
    if (affinity !== undefined) this.#conversations.set(`${modelKey} ${affinity}`, worker)
  }

  /** Mean milliseconds from grant to end of recent requests for the model. */
  serviceMs(modelKey: string): number {
    return this.#serviceMs.get(modelKey) ?? UNKNOWN_SERVICE_MS
  }

  noteService(modelKey: string, ms: number): void {
    const before = this.#serviceMs.get(modelKey)
    this.#serviceMs.set(
      modelKey,
      before === undefined ? ms : before + NEWEST_WEIGHT * (ms - before),
    )
  }
}
