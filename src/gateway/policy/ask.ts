// What a request asks of admission, and how workers were judged for it: plain values.

import type { Need } from '../dialects/dialect.ts'
import type { ModelName } from './model-name.ts'

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
