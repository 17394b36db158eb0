// The book of requests that operators see: those that are being handled, those that ended a moment
// ago, why each went where it went, and what the last minute and the last hour looked like.
// Everything in it is bounded.

import type { Decision } from '../admission/ask.ts'
import type { Clock } from '../clock.ts'
import type { RequestRecord } from '../observe/request-record.ts'
import { parseModelName } from '../policy/model-name.ts'
import { HourCounts } from './hour-counts.ts'
import { MinuteSums, WINDOW_S } from './minute-sums.ts'
import type { Demand, RequestBoard, TrackedRequest, TrafficRates } from './sources.ts'

/** A request that is being handled, as the proxy knows it. */
export interface ActiveView {
  readonly id: string
  readonly dialect: string
  readonly path: string
  /** Monotonic. */
  readonly receivedAt: number
  phase: 'reading' | 'waiting' | 'starting' | 'streaming'
  model: string
  askedModel: string | undefined
  background: boolean
  tenant: string
  actor: string
  worker: string | undefined
  attempts: number
  grantedAt: number | undefined
  firstByteAt: number | undefined
  queueMs: number
  chunks(): number
}

export interface ActiveList {
  list(): readonly ActiveView[]
  cancel(id: string, operator: string): boolean
}

const RECENT_MS = 60_000
/** Ended requests that can still be looked up. */
const ENDED_KEPT = 1_000

export class RequestBook implements RequestBoard, Demand {
  readonly #clock: Clock
  readonly #active: ActiveList
  readonly #decisionsOf: (id: string) => readonly Decision[]
  readonly #models: HourCounts
  readonly #minute: MinuteSums
  /** Rows are made when somebody looks, not for each request that ends. */
  #ended: { record: RequestRecord; at: number }[] = []

  /** `decisionsOf` is the scheduler's memory, which is bounded. */
  constructor(clock: Clock, active: ActiveList, decisionsOf: (id: string) => readonly Decision[]) {
    this.#clock = clock
    this.#models = new HourCounts(clock)
    this.#minute = new MinuteSums(clock)
    this.#active = active
    this.#decisionsOf = decisionsOf
  }

  /** A request is over: a sink for the observer. */
  done(record: RequestRecord): void {
    this.#ended.push({ record, at: this.#clock.mono() })
    if (this.#ended.length >= 2 * ENDED_KEPT) this.#ended = this.#ended.slice(-ENDED_KEPT)
    const { outputTokens: tokens, outcome } = record
    this.#minute.add({ tokens, failed: outcome === 'failed' || outcome === 'broken' })
    if (record.model !== '') this.#models.add(record.model)
  }

  list(): readonly TrackedRequest[] {
    const since = this.#clock.mono() - RECENT_MS
    const recent = this.#ended
      .slice(-ENDED_KEPT)
      .filter(({ at }) => at >= since)
      .map((ended) => this.#endedRow(ended))
    const active = this.#active.list().map((view) => this.#activeRow(view))
    return [...recent, ...active].toSorted((a, b) => a.enteredMono - b.enteredMono)
  }

  find(id: string): TrackedRequest | undefined {
    const view = this.#active.list().find((each) => each.id === id)
    if (view !== undefined) return this.#activeRow(view)
    const ended = this.#ended.findLast(({ record }) => record.id === id)
    return ended && this.#endedRow(ended)
  }

  cancel(id: string, operator: string): boolean {
    return this.#active.cancel(id, operator)
  }

  lastHour(): ReadonlyMap<string, number> {
    return this.#models.sums()
  }

  traffic(): TrafficRates {
    const { requests, tokens, errors } = this.#minute.sums()
    return {
      requestsPerS: requests / WINDOW_S,
      outputTokensPerS: tokens / WINDOW_S,
      errorRatio: requests === 0 ? undefined : errors / requests,
    }
  }

  #activeRow(view: ActiveView): TrackedRequest {
    const decisions = this.#decisionsOf(view.id)
    const phase = PHASES[view.phase]
    const waits = phase === 'waiting' ? decisions.at(-1) : undefined
    return {
      id: view.id,
      tenant: view.tenant,
      actor: view.actor,
      model: view.model,
      modelKey: keyOf(view.model),
      askedModel: view.askedModel,
      dialect: view.dialect,
      path: view.path,
      priority: view.background ? 'background' : 'interactive',
      phase,
      worker: view.worker,
      ...this.#entered(view.receivedAt),
      phaseMono: view.firstByteAt ?? view.grantedAt ?? view.receivedAt,
      attempts: view.attempts,
      queueMs: phase === 'waiting' ? undefined : view.queueMs,
      firstByteMs:
        view.firstByteAt === undefined ? undefined : Math.round(view.firstByteAt - view.receivedAt),
      promptTokens: undefined,
      outputTokens: view.firstByteAt === undefined ? undefined : view.chunks(),
      reason: waits && reasonOf(waits),
      status: undefined,
      decisions,
    }
  }

  #endedRow({ record, at: now }: { record: RequestRecord; at: number }): TrackedRequest {
    return {
      id: record.id,
      tenant: record.tenant,
      actor: record.actor,
      model: record.model,
      modelKey: record.model,
      askedModel: record.askedModel,
      dialect: record.dialect,
      path: record.path,
      priority: record.background ? 'background' : 'interactive',
      phase: OUTCOMES[record.outcome],
      worker: record.worker,
      ...this.#entered(now - record.durationMs),
      phaseMono: now,
      attempts: record.attempts,
      queueMs: record.queueMs,
      firstByteMs: record.ttfbMs === undefined ? undefined : record.queueMs + record.ttfbMs,
      promptTokens: record.promptTokens,
      outputTokens: record.outputTokens,
      reason: record.code ?? record.outcome,
      status: record.status,
      decisions: this.#decisionsOf(record.id),
    }
  }

  /** The wall clock is rounded, so that its drift against the monotonic one changes no row. */
  #entered(mono: number): { enteredMono: number; enteredWall: number } {
    const wall = this.#clock.now() - (this.#clock.mono() - mono)
    return { enteredMono: mono, enteredWall: Math.round(wall / 1000) * 1000 }
  }
}

const PHASES = {
  reading: 'waiting',
  waiting: 'waiting',
  starting: 'sent',
  streaming: 'streaming',
} as const

const OUTCOMES = {
  ok: 'done',
  control: 'done',
  refused: 'failed',
  failed: 'failed',
  broken: 'failed',
  client_gone: 'cancelled',
  slow_client: 'failed',
  cancelled: 'cancelled',
} as const

function reasonOf(decision: Decision): string | undefined {
  const stopped = decision.judged().filter(({ stoppedBy }) => stoppedBy !== undefined)
  const slots = stopped.filter(({ stoppedBy }) => stoppedBy === 'slots')
  const shown = slots.length > 0 ? slots : stopped
  const text = shown.slice(0, 3).map(({ worker, reason }) => `${worker}: ${reason}`)
  return text.length === 0 ? undefined : text.join('; ')
}

function keyOf(model: string): string {
  const parsed = parseModelName(model)
  return parsed.ok ? parsed.name.key : model
}
