// What is known of a request once it is over: metadata for the log, the metrics and the lists.
// Never content, never a key.

import type { DialectName } from '../dialects/dialect.ts'
import type { TraceContext } from './trace-context.ts'

export interface RequestRecord {
  id: string
  dialect: DialectName
  path: string
  /** Canonical key; empty where the request was not read that far. */
  model: string
  /** What the client asked for where an alias or a fallback changed it. */
  askedModel: string | undefined
  background: boolean
  tenant: string
  actor: string
  worker: string | undefined
  outcome:
    | 'ok'
    | 'control'
    | 'refused'
    | 'failed'
    | 'broken'
    | 'client_gone'
    | 'slow_client'
    | 'cancelled'
  /** Fault code, where one says more than the outcome. */
  code: string | undefined
  status: number | undefined
  attempts: number
  /** What ended each attempt that another one followed. */
  retryReasons: readonly string[]
  /** Events that operators were told about it, as `model.reload`. */
  notices: readonly string[]
  queueMs: number
  /** From the grant of the slot to the worker's first byte. */
  ttfbMs: number | undefined
  durationMs: number
  /** Time the model wrote, of a whole answer; undefined where nobody can tell. */
  outputMs: number | undefined
  /** Time the worker says it spent loading the model. */
  loadMs: number | undefined
  promptTokens: number
  outputTokens: number
  /** At least one of the counts is an estimate of the gateway. */
  estimated: boolean
  /** Which trace it belongs to. */
  trace: TraceContext
}
