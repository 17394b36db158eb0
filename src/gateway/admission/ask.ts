// What admission gives: the lease, the decision behind it, and what waits.

import type { WorkerReason } from '../errors.ts'
import type { Ask, Judged, Priority } from '../policy/ask.ts'

export type { Ask, GateName, Judged, Priority, ScoreTerm } from '../policy/ask.ts'

/** The whole of one decision, kept for `ogw requests show`. */
export interface Decision {
  /** Monotonic. */
  at: number
  outcome: 'granted' | 'queued' | 'refused'
  worker: string | undefined
  /** In words, made when they are asked for. */
  judged(): readonly Judged[]
}

/** One slot on one worker. Disposing it gives the slot back, exactly once. */
export interface Lease extends Disposable {
  /** What it was granted to. */
  readonly ask: Ask
  /** The model is resident there otherwise, and is loaded again for this request. */
  readonly reloads: boolean
  readonly worker: string
  readonly queueMs: number
  /** The model was resident as the request asks for it when the slot was given: no load is expected. */
  readonly warm: boolean
  /**
   * Only a guess says that the request does not fit the context there: the model is to be loaded
   * empty first, and what /api/ps then says is believed.
   */
  readonly loadFirst: boolean
  readonly decision: Decision
  /** The worker has begun to answer: a pending load of this lease is over. */
  begun(): void
  /** What it used in the end, in tokens: its tenant's share is counted by it and not by the estimate. */
  used(tokens: number): void
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
  /** Requests for this model wait in the queue. */
  isWaitedFor(modelKey: string): boolean
  inFlight(worker: string): number
  modelInFlight(worker: string, modelKey: string): number
  waiting(): readonly Waiting[]
  waitingCount(): number
}
