// How a request ended, and the record of it: made once, after the last byte, because a status
// that is booked with the headers calls every later failure a success.

import type { Dialect, Usage } from '../dialects/dialect.ts'
import type { FaultCode } from '../errors.ts'
import type { RequestRecord } from '../observe/request-record.ts'
import type { ActiveRequest } from './active-requests.ts'
import type { InferenceRequest } from './inference-deps.ts'
import { estimateTokens } from './token-estimate.ts'

export type Outcome =
  /** The answer went out whole. */
  | { kind: 'ok'; status: number; usage: Usage; chunks: number }
  /** An answer without inference: a load or an unload. */
  | { kind: 'control'; status: number }
  /** The worker refused, and its own words were passed on. */
  | { kind: 'refused'; status: number }
  /** The gateway refused, or no attempt succeeded. */
  | { kind: 'failed'; status: number; code: FaultCode | 'internal' }
  /** The stream began and broke, or told an error of the worker. */
  | { kind: 'broken'; status: number; code: string; usage: Usage; chunks: number }
  | { kind: 'client_gone'; usage?: Usage; chunks?: number }
  | { kind: 'slow_client'; usage: Usage; chunks: number }
  | { kind: 'cancelled' }

interface RecordInput {
  outcome: Outcome
  active: ActiveRequest
  request: InferenceRequest | undefined
  dialect: Dialect
  now: number
}

export function recordOf({ outcome, active, request, dialect, now }: RecordInput): RequestRecord {
  const tokens = tokensOf(outcome, active, request)
  return {
    id: active.id,
    dialect: dialect.name,
    path: active.path,
    model: active.model,
    askedModel: active.askedModel,
    background: active.background,
    tenant: active.tenant,
    actor: active.actor,
    worker: active.worker,
    outcome: outcome.kind,
    code: 'code' in outcome ? outcome.code : undefined,
    status: 'status' in outcome ? outcome.status : undefined,
    attempts: active.attempts,
    retryReasons: active.failures
      .slice(0, Math.max(0, active.attempts - 1))
      .map(({ kind }) => kind),
    notices: [...active.notices],
    queueMs: active.queueMs,
    ttfbMs:
      active.firstByteAt === undefined || active.grantedAt === undefined
        ? undefined
        : active.firstByteAt - active.grantedAt,
    durationMs: now - active.receivedAt,
    ...timesOf(outcome, active, request, now),
    ...tokens,
    trace: active.trace,
  }
}

const NS_PER_MS = 1_000_000

/** The worker's own times where it tells them; else those of a stream, which are nearly the same. */
function timesOf(
  outcome: Outcome,
  { firstByteAt }: ActiveRequest,
  request: InferenceRequest | undefined,
  now: number,
): Pick<RequestRecord, 'outputMs' | 'loadMs'> {
  if (outcome.kind !== 'ok') return { outputMs: undefined, loadMs: undefined }
  const { outputNs, loadNs } = outcome.usage
  const streamed = request?.facts.stream === true && firstByteAt !== undefined
  const streamMs = streamed ? now - firstByteAt : undefined
  return {
    outputMs: outputNs === undefined ? streamMs : outputNs / NS_PER_MS,
    loadMs: loadNs === undefined ? undefined : loadNs / NS_PER_MS,
  }
}

type Tokens = Pick<RequestRecord, 'promptTokens' | 'outputTokens' | 'estimated'>

/** Real counts where the worker told them, else what passed and the estimate; a load has none. */
export function tokensOf(
  outcome: Outcome,
  active: ActiveRequest,
  request: InferenceRequest | undefined,
): Tokens {
  const began = active.firstByteAt !== undefined && request?.facts.kind === 'inference'
  if (!began || outcome.kind === 'refused' || outcome.kind === 'control') {
    return { promptTokens: 0, outputTokens: 0, estimated: false }
  }
  const usage = 'usage' in outcome ? outcome.usage : undefined
  const chunks = 'chunks' in outcome ? (outcome.chunks ?? active.chunks()) : active.chunks()
  const { promptTokens, outputTokens } = usage ?? {}
  return {
    promptTokens: promptTokens ?? estimateTokens(request.facts),
    outputTokens: outputTokens ?? chunks,
    estimated: promptTokens === undefined || outputTokens === undefined,
  }
}
