// What the admin room reads and does outside of itself, as small interfaces: the fleet, the
// scheduler and the proxy fit them, and so do the stubs of a test.

import type { Admission, Decision, Priority } from '../admission/ask.ts'
import type { Worker } from '../fleet/worker.ts'
import type { ContextOn } from '../policy/context-guard.ts'

/** One request as the proxy keeps book of it. Times ending in Mono are of the monotonic clock. */
export interface TrackedRequest {
  id: string
  tenant: string
  actor: string
  model: string
  modelKey: string
  /** What the client asked for where an alias or a fallback changed it. */
  askedModel: string | undefined
  dialect: string
  path: string
  priority: Priority
  /** `sent` = on a worker, no byte yet. */
  phase: 'waiting' | 'sent' | 'streaming' | 'done' | 'failed' | 'cancelled'
  worker: string | undefined
  /** Wall clock in milliseconds. */
  enteredWall: number
  enteredMono: number
  phaseMono: number
  attempts: number
  queueMs: number | undefined
  firstByteMs: number | undefined
  promptTokens: number | undefined
  outputTokens: number | undefined
  /** Why it waits, or how it ended. */
  reason: string | undefined
  status: number | undefined
  /** Oldest first. */
  decisions: readonly Decision[]
}

export interface RequestBoard {
  /** Running, waiting, and those that ended in the last minute; oldest first. */
  list(): readonly TrackedRequest[]
  /** Also one that ended longer ago, while its decisions are kept. */
  find(id: string): TrackedRequest | undefined
  /** False where it has ended already. */
  cancel(id: string, operator: string): boolean
}

/** Over the last minute. */
export interface TrafficRates {
  requestsPerS: number | undefined
  outputTokensPerS: number | undefined
  /** 0 to 1. */
  errorRatio: number | undefined
}

/** Requests of the last hour by canonical model key. */
export interface Demand {
  lastHour(): ReadonlyMap<string, number>
}

/** The parts of the running gateway that rows are made from. */
export interface FleetView {
  workers(): readonly Worker[]
  worker(name: string): Worker | undefined
}

/** What a request without a num_ctx gets for a model there; undefined where there is no worker. */
export type ContextView = (worker: string, modelKey: string) => ContextOn | undefined

export type SlotView = Pick<Admission, 'inFlight' | 'modelInFlight' | 'waiting' | 'waitingCount'>
