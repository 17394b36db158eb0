// What a request asks of admission, and what it gets: plain values and the lease.

import type { Need } from '../dialects/dialect.ts'
import type { ModelName } from '../policy/model-name.ts'
import type { WorkerReason } from '../errors.ts'

export type Priority = 'interactive' | 'background'

/** A request as the gates, the selection and the queue see it. */
export interface Ask {
  requestId: string
  model: ModelName
  needs: readonly Need[]
  /** Tokens the prompt and the answer may take, margin included; undefined = no context check. */
  contextTokens: number | undefined
  /** Of contextTokens those of the answer: a worker counts at most a quarter of its context. */
  answerTokens?: number
  /** A valid native num_ctx, undefined where the request has none. */
  numCtx: number | undefined
  /** Prompt and output estimate: the cost of this request in the fair queue, at least 1. */
  cost: number
  tenant: string
  actor: string
  priority: Priority
  /** Hash of the conversation's beginning, or the client's session id; undefined = no affinity. */
  affinity: string | undefined
  /** Carries an explicit keep_alive: such a request must not overtake a pending load. */
  keepsAlive: boolean
  /** Monotonic time until which it may wait (max_wait, or the client's own shorter deadline). */
  waitUntil: number
  /** Monotonic time it entered the gateway: its place in line, kept over retries. */
  enteredAt: number
  /** Workers that failed this request already, and how. They are not asked again. */
  failed: ReadonlyMap<string, string>
}

/** One term of a worker's score, as `ogw explain` prints it. */
export interface ScoreTerm {
  name: string
  /** The measured quantity, 0 to 1 for most. */
  value: number
  points: number
}

/** How one worker was judged for one request. */
export interface Judged {
  worker: string
  /** The gate that stopped it; undefined = it passed them all. */
  stoppedBy: GateName | undefined
  reason: string
  score: number | undefined
  terms: readonly ScoreTerm[]
}

export type GateName =
  | 'failed'
  | 'placement'
  | 'inventory'
  | 'capability'
  | 'context'
  | 'up'
  | 'draining'
  | 'breaker'
  | 'slots'

/** The whole of one decision, kept for `ogw requests show`. */
export interface Decision {
  at: number
  outcome: 'granted' | 'queued' | 'refused'
  worker: string | undefined
  judged: readonly Judged[]
}

/** One slot on one worker. Disposing it gives the slot back, exactly once. */
export interface Lease extends Disposable {
  readonly worker: string
  readonly queueMs: number
  /** The model was resident with enough context when the slot was given: no load is expected. */
  readonly warm: boolean
  /**
   * Only a guess says that the request does not fit the context there: the model is to be loaded
   * empty first, and what /api/ps then says is believed.
   */
  readonly loadFirst: boolean
  readonly decision: Decision
  /** The worker has begun to answer: a pending load of this lease is over. */
  begun(): void
}

export interface Waiting {
  requestId: string
  model: string
  tenant: string
  actor: string
  priority: Priority
  waitedMs: number
  reasons: readonly WorkerReason[]
}

/** Who goes and who waits. One instance owns all slots and the queue. */
export interface Admission {
  /**
   * A slot, as soon as one is free. Rejects with GatewayError (model_blocked, model_not_installed,
   * capability_missing, context_too_long, no_worker_up, queue_full, queue_timeout) or with the
   * signal's reason when the client left first; then no slot was taken.
   */
  request(ask: Ask, signal: AbortSignal): Promise<Lease>
  /** The worker answered 503 busy: nothing more is sent there for that model until the hold ends. */
  hold(worker: string, modelKey: string): void
  /** Others wait for, or are about to begin on, the load of this model on this worker. */
  loadIsWanted(worker: string, modelKey: string): boolean
  inFlight(worker: string): number
  modelInFlight(worker: string, modelKey: string): number
  waiting(): readonly Waiting[]
  waitingCount(): number
}
