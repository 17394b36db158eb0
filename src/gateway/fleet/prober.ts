// Asks every worker whether it is there: one round through its addresses per interval, however
// many models it has, and at once when a request or an operator wants to know.
//
// Each worker has its own timer and at most one round at a time, so a slow one delays nobody. With
// probes off there are no rounds: a faulty worker is left alone for a while and then counts as up.

import type { WorkerConfig } from '../config/schema.ts'
import { probePause } from '../policy/worker-health.ts'
import type { Timer } from '../clock.ts'
import { probe, probeRound } from './addresses.ts'
import type { ProbeDeps } from './addresses.ts'
import { Bounded } from './bounded.ts'
import type { Fleet } from './fleet.ts'
import type { FleetEvent, FleetSettings } from './fleet-event.ts'
import type { Worker } from './worker.ts'

export interface ProberDeps extends ProbeDeps {
  fleet: Fleet
  settings(): FleetSettings
}

export type AddressProbe = { ok: true } | { ok: false; error: string }

/** Rounds under way at once: a bound on sockets, far above what a fleet of 200 needs. */
const MAX_ROUNDS = 256

/** The first rounds of many workers begin within this time, 10 ms apart where there are few. */
const FIRST_SPREAD_MS = 1_000
const FIRST_GAP_MS = 10

/** Periodic pauses differ by up to this share, so that rounds do not march in step. */
const JITTER = 0.05

/** Least time between two rounds that faults of requests ask for. */
const FAULT_GAP_MS = 1_000

interface Plan {
  timer: Timer | undefined
  /** Monotonic time the timer is for. */
  dueAt: number
  /** The round that runs, until it has been applied. */
  running: Promise<void> | undefined
  pauseMs: number
  endedAt: number
  /** Something odd was met while the round ran: another one follows soon. */
  again: boolean
}

export class Prober {
  readonly #deps: ProberDeps
  readonly #plans = new Map<string, Plan>()
  readonly #rounds = new Bounded(MAX_ROUNDS)
  readonly #stopped = new AbortController()
  readonly #firstRound = Promise.withResolvers<void>()
  /** Workers whose first round has not ended. */
  readonly #unseen = new Set<string>()
  #unsubscribe = (): void => undefined

  constructor(deps: ProberDeps) {
    this.#deps = deps
  }

  /** Resolves once the first round of all workers of the start has ended, and when stopped. */
  get firstRoundDone(): Promise<void> {
    return this.#firstRound.promise
  }

  start(): void {
    this.#unsubscribe = this.#deps.fleet.onChange((event, worker) => this.#hear(event, worker))
    for (const worker of this.#deps.fleet.workers()) {
      if (worker.config.probe.interval !== 'off') this.#unseen.add(worker.name)
    }
    this.#planMissing()
    this.#noteSeen('')
  }

  /** Ends timers, rounds and their sockets. */
  async stop(): Promise<void> {
    this.#unsubscribe()
    this.#stopped.abort()
    const plans = [...this.#plans.values()]
    this.#plans.clear()
    for (const { timer } of plans) timer?.cancel()
    await Promise.all(plans.flatMap(({ running }) => running ?? []))
    this.#firstRound.resolve()
  }

  /** One round at once, with probes off too; its verdict counts at once. Resolves when it ended. */
  async probeNow(name: string): Promise<void> {
    if (this.#deps.fleet.worker(name) === undefined) return
    const plan = this.#planOf(name)
    // The round that runs began before whatever made somebody ask.
    await plan.running
    plan.timer?.cancel()
    await (plan.running ?? this.#begin(name, plan, false))
  }

  /** One probe of one address, for a request that waits for it. Changes nothing by itself. */
  async probeAddress(worker: Worker, url: string, signal: AbortSignal): Promise<AddressProbe> {
    const address = worker.addresses.find((candidate) => candidate.url === url)
    if (address === undefined) return { ok: false, error: `${url} is no address of it any more` }
    const ended = AbortSignal.any([signal, this.#stopped.signal])
    const result = await probe(this.#deps, worker.config, address, ended)
    return result.ok ? { ok: true } : result
  }

  #hear(event: FleetEvent, worker: Worker | undefined): void {
    if (event.type === 'configured') this.#planMissing()
    if (worker === undefined) return
    const down = worker.health.state === 'down'
    if (event.type === 'transport_fault') this.#suspect(worker, FAULT_GAP_MS)
    // Of a worker with one address the probe that met the silence has said all.
    if (event.type === 'silent' && !(down && isProbed(worker))) this.#suspect(worker, 0)
    if (event.type === 'answered' && down) this.#suspect(worker, FAULT_GAP_MS)
  }

  /** A request met something odd: the worker's next round is now, or soon after the last. */
  #suspect(worker: Worker, gapMs: number): void {
    if (!isProbed(worker)) {
      if (worker.health.state === 'down') this.#rest(worker)
      return
    }
    const plan = this.#planOf(worker.name)
    if (plan.running !== undefined) {
      plan.again = true
      return
    }
    const now = this.#deps.clock.mono()
    const at = Math.max(now, plan.endedAt + gapMs)
    if (at < plan.dueAt) this.#schedule(worker.name, plan, at - now, false)
  }

  /** With probes off: nobody asks the worker until its pause is over. */
  #rest(worker: Worker): void {
    const plan = this.#planOf(worker.name)
    plan.timer?.cancel()
    const { clock, fleet } = this.#deps
    const pauseMs = this.#deps.settings().upstream.breaker.open
    plan.timer = clock.after(pauseMs, () => {
      fleet.apply({ type: 'probe_planned', worker: worker.name, at: undefined })
      fleet.apply({ type: 'rested', worker: worker.name })
    })
    fleet.apply({ type: 'probe_planned', worker: worker.name, at: clock.mono() + pauseMs })
  }

  /** Plans what the config has newly, and forgets what it has no longer. */
  #planMissing(): void {
    const { fleet } = this.#deps
    for (const [name, plan] of this.#plans) {
      const worker = fleet.worker(name)
      if (worker !== undefined && isProbed(worker)) continue
      plan.timer?.cancel()
      this.#plans.delete(name)
      this.#noteSeen(name)
    }
    const fresh = fleet
      .workers()
      .filter((worker) => !this.#plans.has(worker.name) && isProbed(worker))
    const gapMs = Math.min(FIRST_GAP_MS, FIRST_SPREAD_MS / Math.max(1, fresh.length))
    for (const [place, { name }] of fresh.entries()) {
      this.#schedule(name, this.#planOf(name), place * gapMs, true)
    }
  }

  #planOf(name: string): Plan {
    const known = this.#plans.get(name)
    if (known !== undefined) return known
    const plan: Plan = {
      timer: undefined,
      dueAt: Number.POSITIVE_INFINITY,
      running: undefined,
      pauseMs: 0,
      endedAt: Number.NEGATIVE_INFINITY,
      again: false,
    }
    this.#plans.set(name, plan)
    return plan
  }

  #schedule(name: string, plan: Plan, delayMs: number, periodic: boolean): void {
    const { clock, fleet } = this.#deps
    plan.timer?.cancel()
    plan.dueAt = clock.mono() + delayMs
    plan.timer = clock.after(delayMs, () => void this.#begin(name, plan, periodic))
    fleet.apply({ type: 'probe_planned', worker: name, at: plan.dueAt })
  }

  #begin(name: string, plan: Plan, periodic: boolean): Promise<void> {
    plan.dueAt = Number.NEGATIVE_INFINITY
    plan.running = this.#rounds
      .run(() => this.#round(name, periodic))
      .finally(() => this.#ended(name, plan))
    return plan.running
  }

  async #round(name: string, periodic: boolean): Promise<void> {
    const { fleet } = this.#deps
    const worker = fleet.worker(name)
    if (worker === undefined || this.#stopped.signal.aborted) return
    const { answered, error } = await probeRound(this.#deps, worker.config, worker.addresses, {
      signal: this.#stopped.signal,
      each: (address, result) => fleet.apply({ type: 'probed', worker: name, address, result }),
    })
    if (this.#stopped.signal.aborted) return
    fleet.apply({ type: 'round_ended', worker: name, answered, error, periodic })
  }

  #ended(name: string, plan: Plan): void {
    const { clock, fleet } = this.#deps
    plan.running = undefined
    plan.endedAt = clock.mono()
    this.#noteSeen(name)
    const worker = fleet.worker(name)
    if (worker === undefined || this.#plans.get(name) !== plan) return
    const intervalMs = intervalOf(worker.config)
    if (intervalMs === undefined) {
      if (worker.health.state === 'down') this.#rest(worker)
      return
    }
    if (plan.again) {
      plan.again = false
      this.#schedule(name, plan, FAULT_GAP_MS, false)
      return
    }
    const maxBackoffMs = worker.config.probe.max_backoff
    const pauses = { intervalMs, maxBackoffMs, previousMs: plan.pauseMs }
    plan.pauseMs = probePause(worker.health, pauses, plan.endedAt)
    const jitter = 1 + JITTER * (2 * Math.random() - 1)
    this.#schedule(name, plan, plan.pauseMs * jitter, true)
  }

  #noteSeen(name: string): void {
    this.#unseen.delete(name)
    if (this.#unseen.size === 0) this.#firstRound.resolve()
  }
}

function isProbed({ config }: Worker): boolean {
  return intervalOf(config) !== undefined
}

/** Milliseconds between two rounds; undefined with probes off. */
function intervalOf({ probe: { interval } }: WorkerConfig): number | undefined {
  return interval === 'off' ? undefined : interval
}
