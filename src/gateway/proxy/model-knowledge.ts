// Makes sure that what can be known of a model is known before its requests are judged. The first
// request for a model waits for /api/show of its workers, within a bound and once; whatever has
// not answered by then is unknown, and what is unknown passes.

import type { Clock } from '../clock.ts'
import { installedOn } from '../fleet/worker.ts'
import type { Worker } from '../fleet/worker.ts'
import { decidePlacement } from '../policy/placement.ts'

export interface KnowledgeDeps {
  clock: Clock
  workers(): readonly Worker[]
  /** Single flight and cached; resolves also when the worker does not answer. */
  ensure(worker: Worker, modelKey: string): Promise<unknown>
}

/** The most that a model's first request waits. */
const FIRST_WAIT_MS = 1_000
/** How often a model is looked after: its digest may change, its cached answers grow old. */
const LOOK_EVERY_MS = 1_000
const MAX_MODELS = 10_000

export class ModelKnowledge {
  readonly #deps: KnowledgeDeps
  /** Model key → monotonic time of the next look. */
  readonly #nextLook = new Map<string, number>()
  /** Worker and digest of models that were waited for once. */
  readonly #waited = new Set<string>()
  /** Model key → the wait that its first requests share: with 200 workers it is no small thing. */
  readonly #waiting = new Map<string, Promise<void>>()

  constructor(deps: KnowledgeDeps) {
    this.#deps = deps
  }

  /** Undefined where there is nothing to wait for. Resolves early when the signal aborts. */
  ready(modelKey: string, signal: AbortSignal): Promise<void> | undefined {
    const wait = this.#waiting.get(modelKey) ?? this.#look(modelKey)
    return wait === undefined ? undefined : untilAborted(wait, signal)
  }

  #look(modelKey: string): Promise<void> | undefined {
    const now = this.#deps.clock.mono()
    if ((this.#nextLook.get(modelKey) ?? 0) > now) return undefined
    if (this.#nextLook.size >= MAX_MODELS) this.#nextLook.clear()
    this.#nextLook.set(modelKey, now + LOOK_EVERY_MS)
    const unknown: Promise<unknown>[] = []
    for (const worker of this.#deps.workers()) {
      const digest = askable(worker, modelKey)
      if (digest === undefined) continue
      const asked = this.#deps.ensure(worker, modelKey)
      if (worker.info.get(modelKey)?.digest !== digest && this.#firstTime(worker, digest)) {
        unknown.push(asked)
      }
    }
    if (unknown.length === 0) return undefined
    const wait = this.#waitFor(modelKey, unknown)
    this.#waiting.set(modelKey, wait)
    return wait
  }

  async #waitFor(modelKey: string, answers: Promise<unknown>[]): Promise<void> {
    try {
      await this.#within(Promise.all(answers))
    } finally {
      this.#waiting.delete(modelKey)
    }
    for (const worker of this.#deps.workers()) {
      const digest = askable(worker, modelKey)
      if (digest !== undefined) this.#note(worker, digest)
    }
  }

  #firstTime(worker: Worker, digest: string): boolean {
    return !this.#waited.has(`${worker.name} ${digest}`)
  }

  #note(worker: Worker, digest: string): void {
    if (this.#waited.size >= 10 * MAX_MODELS) this.#waited.clear()
    this.#waited.add(`${worker.name} ${digest}`)
  }

  /** Resolves with the answers, or without them when they take too long. */
  async #within(answers: Promise<unknown>): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = this.#deps.clock.after(FIRST_WAIT_MS, resolve)
    await Promise.race([answers, late])
    timer.cancel()
  }
}

/** The digest of the model where it could run; undefined where nobody needs to know. */
function askable(worker: Worker, modelKey: string): string | undefined {
  if (worker.health.state !== 'up') return undefined
  const model = installedOn(worker, modelKey)
  if (model === undefined || (model.remoteHost ?? '') !== '') return undefined
  return decidePlacement(worker.placement, modelKey, { cloud: false }).allowed
    ? model.digest
    : undefined
}

async function untilAborted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise: aborted, resolve } = Promise.withResolvers<void>()
  const onAbort = (): void => resolve()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await Promise.race([wait, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
