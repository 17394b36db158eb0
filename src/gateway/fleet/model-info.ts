// What POST /api/show says of a model: asked once per worker, model and digest, whoever wants to
// know and however many at once, and believed for `model_capabilities.cache_ttl`.
//
// The worker's own body is kept too, within a bound, because clients ask the gateway for it: a
// model picker that shows 150 models must not become 150 requests to a worker at each opening.

import type { Clock } from '../clock.ts'
import { Bounded } from './bounded.ts'
import { ByteLru } from './byte-lru.ts'
import type { Fleet } from './fleet.ts'
import type { FleetSettings } from './fleet-event.ts'
import { Interned, readShow } from './worker-answers.ts'
import { callWorker, currentTarget } from './worker-api.ts'
import { installedOn } from './worker.ts'
import type { ModelInfo, Worker } from './worker.ts'

export interface ModelInfoDeps {
  fleet: Fleet
  clock: Clock
  settings(): FleetSettings
}

/** The worker's own answer, whatever its status, or why there is none. */
export type ShowAnswer =
  | { ok: true; status: number; contentType: string; body: Buffer }
  | { ok: false; error: string }

/** A request waits no longer than this to learn what a model can do; unknown passes. */
const SHOW_TIMEOUT_MS = 5_000
/** How long a model whose show failed is not asked about again. */
const FAILED_TTL_MS = 30_000
/** Show reads a file header on the worker: it is not to be stormed. */
const MAX_PER_WORKER = 2
/** The verbose answer holds the whole vocabulary: tens of megabytes. */
const MAX_SHOW_BYTES = 67_108_864
const MAX_CACHED_BYTES = 67_108_864
const MAX_ENTRIES = 20_000

interface Entry {
  /** Of what was asked: digest and version. Another one is another question. */
  stamp: string
  /** Monotonic time until which the answer, or the failure, is believed. */
  until: number
}

export class ModelInfos {
  readonly #deps: ModelInfoDeps
  /** By worker and model, the least recently asked first. */
  readonly #entries = new Map<string, Entry>()
  readonly #bodies = new ByteLru(MAX_CACHED_BYTES)
  readonly #flights = new Map<string, Promise<ShowAnswer>>()
  readonly #bounds = new Map<string, Bounded>()
  readonly #interned = new Interned<ModelInfo>()
  readonly #stopped = new AbortController()

  constructor(deps: ModelInfoDeps) {
    this.#deps = deps
  }

  /** What is known now, from show, else from what tags says since Ollama 0.30. */
  infoOf(worker: Worker, model: string): ModelInfo | undefined {
    return knownInfo(worker, model)
  }

  /**
   * As infoOf, after asking the worker where its answer is missing or too old. Resolves with what
   * is known when that fails.
   */
  async ensure(worker: Worker, model: string): Promise<ModelInfo | undefined> {
    const asked = worker.current !== undefined && !this.#isFresh(worker, model, false)
    if (asked) await this.#fly(worker, { model, verbose: false })
    return knownInfo(worker, model)
  }

  /** The worker's answer to a show of the model, from the cache where that is fresh. */
  async show(worker: Worker, model: string, verbose: boolean): Promise<ShowAnswer> {
    const id = idOf(worker, { model, verbose })
    const body = this.#isFresh(worker, model, verbose) ? this.#bodies.get(id) : undefined
    if (body !== undefined) return { ok: true, status: 200, contentType: JSON_TYPE, body }
    if (worker.current === undefined) return { ok: false, error: 'the worker is down' }
    return this.#fly(worker, { model, verbose })
  }

  stop(): void {
    this.#stopped.abort()
  }

  #isFresh(worker: Worker, model: string, verbose: boolean): boolean {
    const entry = this.#entries.get(idOf(worker, { model, verbose }))
    if (entry === undefined) return false
    return entry.stamp === stampOf(worker, model) && this.#deps.clock.mono() < entry.until
  }

  /** One request per question, however many ask it. */
  #fly(worker: Worker, question: Question): Promise<ShowAnswer> {
    const id = idOf(worker, question)
    const flying = this.#flights.get(id)
    if (flying !== undefined) return flying
    const flight = this.#boundOf(worker.name)
      .run(() => this.#ask(worker.name, question))
      .finally(() => this.#flights.delete(id))
    this.#flights.set(id, flight)
    return flight
  }

  async #ask(name: string, question: Question): Promise<ShowAnswer> {
    const { fleet, clock } = this.#deps
    const worker = fleet.worker(name)
    const target = currentTarget(worker)
    if (worker === undefined || target === undefined) {
      return { ok: false, error: 'the worker is down' }
    }
    const { model, verbose } = question
    const stamp = stampOf(worker, model)
    const spelling = installedOn(worker, model)?.name ?? model
    const answer = await callWorker(clock, target, {
      method: 'POST',
      path: '/api/show',
      body: JSON.stringify(verbose ? { model: spelling, verbose } : { model: spelling }),
      timeoutMs: SHOW_TIMEOUT_MS,
      maxBytes: MAX_SHOW_BYTES,
      signal: this.#stopped.signal,
    })
    // The model was pulled anew, or the worker replaced, while the answer was on its way.
    if (stampOf(worker, model) === stamp) this.#take(worker, question, answer)
    return answer
  }

  #take(worker: Worker, question: Question, answer: ShowAnswer): void {
    const { clock, fleet } = this.#deps
    const { model, verbose } = question
    const id = idOf(worker, question)
    const digest = installedOn(worker, model)?.digest ?? ''
    const info = answer.ok && answer.status === 200 ? readShow(answer.body, digest) : undefined
    const ttl =
      info === undefined ? FAILED_TTL_MS : this.#deps.settings().model_capabilities.cache_ttl
    this.#remember(id, { stamp: stampOf(worker, model), until: clock.mono() + ttl })
    if (info === undefined || !answer.ok) {
      this.#bodies.delete(id)
      return
    }
    this.#bodies.set(id, answer.body)
    if (verbose) return
    const shared = this.#interned.get(JSON.stringify(info), () => info)
    fleet.apply({ type: 'shown', worker: worker.name, model, info: shared })
  }

  #remember(id: string, entry: Entry): void {
    this.#entries.delete(id)
    this.#entries.set(id, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size <= MAX_ENTRIES || oldest === undefined) return
    this.#entries.delete(oldest)
    this.#bodies.delete(oldest)
  }

  #boundOf(worker: string): Bounded {
    const known = this.#bounds.get(worker)
    if (known !== undefined) return known
    const bound = new Bounded(MAX_PER_WORKER)
    this.#bounds.set(worker, bound)
    return bound
  }
}

interface Question {
  model: string
  verbose: boolean
}

const JSON_TYPE = 'application/json; charset=utf-8'

/** What show said of the installed digest, completed by what tags says since Ollama 0.30. */
export function knownInfo(worker: Worker, model: string): ModelInfo | undefined {
  const installed = installedOn(worker, model)
  const shown = worker.info.get(model)
  if (installed === undefined) return worker.inventory.state === 'unknown' ? shown : undefined
  const { digest, capabilities, contextLength } = installed
  if (shown !== undefined && shown.digest === digest) {
    if (shown.capabilities !== undefined && shown.contextMax !== undefined) return shown
    return {
      ...shown,
      capabilities: shown.capabilities ?? capabilities,
      contextMax: shown.contextMax ?? contextLength,
    }
  }
  if (capabilities === undefined && contextLength === undefined) return undefined
  return { digest, capabilities, contextMax: contextLength, modelfileNumCtx: undefined }
}

function stampOf(worker: Worker, model: string): string {
  return `${installedOn(worker, model)?.digest ?? ''} ${worker.version ?? ''}`
}

/** A worker's name has no blank. */
function idOf(worker: Worker, { model, verbose }: Question): string {
  return `${worker.name} ${verbose ? 'verbose' : 'plain'} ${model}`
}
