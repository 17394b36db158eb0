// Makes sure that what can be known of a model is known before its requests are judged. The first
// request for a model waits for /api/show of its workers, within a bound and once; whatever has
// not answered by then is unknown, and what is unknown passes.

import type { Clock } from '../clock.ts'
import { installedOn } from '../fleet/worker.ts'
import type { ModelInfo, Worker } from '../fleet/worker.ts'
import { decidePlacement } from '../policy/placement.ts'

export interface KnowledgeDeps {
  clock: Clock
  workers(): readonly Worker[]
  /** Single flight and cached; resolves with what is known also when the worker does not answer. */
  ensure(worker: Worker, modelKey: string, signal: AbortSignal): Promise<ModelInfo | undefined>
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

  constructor(deps: KnowledgeDeps) {
    this.#deps = deps
  }

  /** Undefined where there is nothing to wait for. Never rejects. */
  ready(modelKey: string, signal: AbortSignal): Promise<void> | undefined {
    const now = this.#deps.clock.mono()
    if ((this.#nextLook.get(modelKey) ?? 0) > now) return undefined
    if (this.#nextLook.size >= MAX_MODELS) this.#nextLook.clear()
    this.#nextLook.set(modelKey, now + LOOK_EVERY_MS)
    const unknown: Promise<unknown>[] = []
    for (const worker of this.#deps.workers()) {
      const digest = askable(worker, modelKey)
      if (digest === undefined) continue
      const asked = this.#deps.ensure(worker, modelKey, signal).catch(ignore)
      if (worker.info.get(modelKey)?.digest !== digest && this.#firstTime(worker, digest)) {
        unknown.push(asked)
      }
    }
    if (unknown.length === 0) return undefined
    // Others that come while the first one waits are to wait as well.
    this.#nextLook.delete(modelKey)
    return this.#waitFor(modelKey, unknown)
  }

  async #waitFor(modelKey: string, answers: Promise<unknown>[]): Promise<void> {
    await this.#within(Promise.all(answers))
    this.#nextLook.set(modelKey, this.#deps.clock.mono() + LOOK_EVERY_MS)
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

/** A client that leaves while it waits is noticed by whoever asked. */
function ignore(): void {}
