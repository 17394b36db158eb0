// Keeps what each worker has installed (/api/tags) and loaded (/api/ps) up to date: at once when it
// came up or moved, then each at its own interval while it is up.
//
// A failed reading keeps the answer before it, with the reason. A body that has not changed is not
// parsed again: with many workers and models that would be most of what the gateway does.

import type { Clock, Timer } from '../clock.ts'
import { Bounded } from './bounded.ts'
import type { Fleet } from './fleet.ts'
import type { FleetEvent, FleetSettings } from './fleet-event.ts'
import { fingerprint, newInternedTags, readLoaded, readTags } from './worker-answers.ts'
import { callWorker, currentTarget } from './worker-api.ts'
import { currentAddress } from './worker.ts'
import type { Worker } from './worker.ts'

export interface InventoryDeps {
  fleet: Fleet
  clock: Clock
  settings(): FleetSettings
}

type Kind = 'tags' | 'loaded'

/** A worker that has just started answers tags only when it has looked through its disk. */
const TAGS_TIMEOUT_MS = 15_000
/** ps can stall while a runner is being killed; the answer before it is kept meanwhile. */
const LOADED_TIMEOUT_MS = 3_000

const MAX_TAGS_BYTES = 33_554_432
const MAX_LOADED_BYTES = 4_194_304

/** How often answers of a model that ps does not list may have it read again. */
const AFTER_ANSWER_MS = 500

/** Readings under way at once, so that many long lists are not in memory together. */
const MAX_READINGS = 8

interface Reading {
  timer: Timer | undefined
  running: Promise<void> | undefined
  /** Asked for while one ran: what ran may have been too early. */
  again: boolean
  /** Fingerprint of the last good body; undefined makes the next one be parsed. */
  last: string | undefined
}

interface Plan {
  /** Where the readings came from: another address or IP is another worker until it is read. */
  place: string
  readings: Record<Kind, Reading>
  /** Ends what is being read when the worker goes down: back again it is asked anew, at once. */
  ended: AbortController
  /** Monotonic time of the last reading that an answer asked for. */
  answeredAt: number
}

export class InventoryReader {
  readonly #deps: InventoryDeps
  readonly #plans = new Map<string, Plan>()
  readonly #bounded = new Bounded(MAX_READINGS)
  readonly #stopped = new AbortController()
  readonly #interned = newInternedTags()
  #unsubscribe = (): void => undefined

  constructor(deps: InventoryDeps) {
    this.#deps = deps
  }

  start(): void {
    this.#unsubscribe = this.#deps.fleet.onChange((event, worker) => this.#hear(event, worker))
    for (const worker of this.#deps.fleet.workers()) this.#follow(worker)
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    this.#stopped.abort()
    const readings = [...this.#plans.values()].flatMap(({ readings: { tags, loaded } }) => [
      tags,
      loaded,
    ])
    this.#plans.clear()
    for (const { timer } of readings) timer?.cancel()
    await Promise.all(readings.flatMap(({ running }) => running ?? []))
  }

  /** Reads both lists of the worker now. Resolves when they are known or have failed. */
  async readNow(name: string): Promise<void> {
    await Promise.all([this.#read(name, 'tags'), this.#read(name, 'loaded')])
  }

  /**
   * A model has answered: it is loaded now. Where that is news ps is read at once, because until
   * then the next requests would go and load it elsewhere.
   */
  modelAnswered(name: string, model: string): void {
    const worker = this.#deps.fleet.worker(name)
    if (worker === undefined || worker.config.probe.interval === 'off') return
    if (worker.loaded.state !== 'known' || worker.loaded.models.has(model)) return
    const plan = this.#planOf(name)
    const now = this.#deps.clock.mono()
    if (now - plan.answeredAt < AFTER_ANSWER_MS) return
    plan.answeredAt = now
    void this.#read(name, 'loaded')
  }

  #hear(event: FleetEvent, worker: Worker | undefined): void {
    if (event.type === 'configured') {
      for (const [name, plan] of this.#plans) {
        if (this.#deps.fleet.worker(name) === undefined) this.#forget(name, plan)
      }
    }
    if (worker === undefined) return
    if (event.type === 'round_ended' || event.type === 'probed') this.#follow(worker)
    if (event.type === 'model_missing') {
      const { tags } = this.#planOf(worker.name).readings
      // The list still has to be believed if it comes again as it was.
      tags.last = undefined
      void this.#read(worker.name, 'tags')
    }
  }

  /** Reads a worker that came up or moved; one that went down is not asked any more. */
  #follow(worker: Worker): void {
    const address = currentAddress(worker)
    if (worker.health.state !== 'up' || address === undefined) {
      const plan = this.#plans.get(worker.name)
      if (plan !== undefined && worker.health.state === 'down') this.#pause(plan)
      return
    }
    // With probes off nothing is known of the address: the worker is not woken for its lists.
    if (address.ip === undefined) return
    const place = `${address.url} ${address.ip}`
    const plan = this.#planOf(worker.name)
    if (plan.place === place) return
    plan.place = place
    void this.#read(worker.name, 'tags')
    void this.#read(worker.name, 'loaded')
  }

  #planOf(name: string): Plan {
    const known = this.#plans.get(name)
    if (known !== undefined) return known
    const readings = { tags: newReading(), loaded: newReading() }
    const plan: Plan = {
      place: '',
      readings,
      ended: new AbortController(),
      answeredAt: Number.NEGATIVE_INFINITY,
    }
    this.#plans.set(name, plan)
    return plan
  }

  #pause(plan: Plan): void {
    plan.place = ''
    plan.ended.abort()
    plan.ended = new AbortController()
    plan.readings.tags.timer?.cancel()
    plan.readings.loaded.timer?.cancel()
  }

  #forget(name: string, plan: Plan): void {
    this.#pause(plan)
    this.#plans.delete(name)
  }

  #read(name: string, kind: Kind): Promise<void> {
    if (this.#stopped.signal.aborted) return Promise.resolve()
    if (this.#deps.fleet.worker(name) === undefined) return Promise.resolve()
    const reading = this.#planOf(name).readings[kind]
    reading.timer?.cancel()
    if (reading.running !== undefined) {
      reading.again = true
      return reading.running
    }
    reading.running = this.#bounded
      .run(() => this.#untilFresh(name, kind, reading))
      .finally(() => {
        reading.running = undefined
        this.#plan(name, kind, reading)
      })
    return reading.running
  }

  async #untilFresh(name: string, kind: Kind, reading: Reading): Promise<void> {
    do {
      reading.again = false
      await this.#readOnce(name, kind, reading)
    } while (reading.again && !this.#stopped.signal.aborted)
  }

  async #readOnce(name: string, kind: Kind, reading: Reading): Promise<void> {
    const { fleet, clock } = this.#deps
    const target = currentTarget(fleet.worker(name))
    if (target === undefined) return
    const { signal: ended } = this.#planOf(name).ended
    const answer = await callWorker(clock, target, {
      method: 'GET',
      path: kind === 'tags' ? '/api/tags' : '/api/ps',
      timeoutMs: kind === 'tags' ? TAGS_TIMEOUT_MS : LOADED_TIMEOUT_MS,
      maxBytes: kind === 'tags' ? MAX_TAGS_BYTES : MAX_LOADED_BYTES,
      signal: AbortSignal.any([this.#stopped.signal, ended]),
    })
    if (this.#stopped.signal.aborted || ended.aborted) return
    if (!answer.ok) this.#failed(name, kind, answer.error)
    else if (answer.status !== 200) this.#failed(name, kind, `answered ${answer.status}`)
    else this.#take(name, kind, reading, answer.body)
  }

  #take(name: string, kind: Kind, reading: Reading, body: Buffer): void {
    const { fleet } = this.#deps
    const print = fingerprint(body)
    const same = print === reading.last
    if (kind === 'tags') {
      const installed = same ? undefined : readTags(body, this.#interned)
      if (!same && installed === undefined) return this.#failed(name, kind, NOT_A_LIST)
      reading.last = print
      fleet.apply({ type: 'tags_read', worker: name, installed })
      return
    }
    const loaded = same ? undefined : readLoaded(body)
    if (!same && loaded === undefined) return this.#failed(name, kind, NOT_A_LIST)
    reading.last = print
    fleet.apply({ type: 'loaded_read', worker: name, loaded })
  }

  #failed(name: string, kind: Kind, error: string): void {
    const type = kind === 'tags' ? 'tags_failed' : 'loaded_failed'
    this.#deps.fleet.apply({ type, worker: name, error })
  }

  /** Plans the next periodic reading of a worker that is up and probed. */
  #plan(name: string, kind: Kind, reading: Reading): void {
    const worker = this.#deps.fleet.worker(name)
    const plan = this.#plans.get(name)
    if (worker?.health.state !== 'up' || plan?.readings[kind] !== reading) return
    if (worker.config.probe.interval === 'off') return
    const { tags_interval, ps_interval } = this.#deps.settings().inventory
    const pauseMs = kind === 'tags' ? tags_interval : ps_interval
    reading.timer?.cancel()
    reading.timer = this.#deps.clock.after(pauseMs, () => void this.#read(name, kind))
  }
}

const NOT_A_LIST = 'the answer is not a list of models'

function newReading(): Reading {
  return { timer: undefined, running: undefined, again: false, last: undefined }
}
