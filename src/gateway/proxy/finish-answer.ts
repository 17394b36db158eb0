// The end of an answer that the client has seen the beginning of: whole, broken or abandoned.
// A stream that ends without its terminator is told, never ended as if it were whole.

import type { Lease } from '../admission/ask.ts'
import type { Ending } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import type { Fault } from '../errors.ts'
import { countsWholePrompts, wasTruncated } from '../policy/truncation.ts'
import type { ActiveRequest } from './active-requests.ts'
import { ClientGone } from './active-requests.ts'
import type { AttemptResult, RelayEnd } from './attempt-result.ts'
import type { ClientStream } from './client-stream.ts'
import type { InferenceDeps, InferenceRequest, Upstream } from './inference-deps.ts'
import { notice } from './notice.ts'
import type { Outcome } from './request-outcome.ts'

export interface Finishing {
  request: InferenceRequest
  active: ActiveRequest
  client: ClientStream
  upstream: Upstream
  lease: Lease
  result: Extract<AttemptResult, { kind: 'relayed' }>
}

export function finishAnswer(deps: InferenceDeps, finishing: Finishing): Outcome {
  const { request, client, upstream, active, result } = finishing
  const { worker, address } = upstream
  const { end } = result
  const streamed = request.facts.stream && request.dialect.framing !== 'none'
  const ending = request.dialect.ending(result.tail, streamed)
  const seen = { status: result.status, usage: ending.usage, chunks: result.chunks }
  switch (end.kind) {
    case 'ended':
      return ended(deps, finishing, ending)
    case 'slow_client':
      client.destroy()
      return { kind: 'slow_client', ...seen }
    case 'aborted':
      if (active.signal.reason instanceof ClientGone) return { kind: 'client_gone', ...seen }
      tellInside(finishing, reasonOf(active.signal.reason))
      return { kind: 'cancelled' }
    case 'cut':
      deps.tell({ type: 'transport_fault', worker, address, error: end.detail })
      break
    case 'absent':
      deps.tell({ type: 'silent', worker, address, error: end.detail })
      break
    case 'timeout':
      break
  }
  const fault = brokenFault(end, worker, client.bytesSent)
  tellInside(finishing, new GatewayError(fault))
  return { kind: 'broken', code: fault.code, ...seen }
}

function ended(deps: InferenceDeps, finishing: Finishing, ending: Ending): Outcome {
  const { request, client, upstream, result } = finishing
  const { worker } = upstream
  const { status, chunks } = result
  const { usage } = ending
  if (ending.error !== undefined) {
    const fault = deps.classify(500, JSON.stringify({ error: ending.error }))
    if (fault === 'out_of_memory' || fault === 'load_failed' || fault === 'runner_died') {
      const model = request.name.key
      deps.tell({ type: 'load_failed', worker, model, error: ending.error.slice(0, 200) })
    }
    const { error: detail, told } = ending
    if (told) client.end()
    else
      tellInside(
        finishing,
        new GatewayError({ code: 'upstream_error', worker, status: 502, detail }),
      )
    return { kind: 'broken', code: 'worker_error', status, usage, chunks }
  }
  if (!ending.complete && request.facts.stream) {
    const fault = { code: 'worker_incomplete', worker, bytesSent: client.bytesSent } as const
    tellInside(finishing, new GatewayError(fault))
    return { kind: 'broken', code: fault.code, status, usage, chunks }
  }
  tellTruncation(deps, finishing, ending)
  client.end()
  if (!ending.complete) return { kind: 'broken', code: 'worker_incomplete', status, usage, chunks }
  learn(deps, finishing, ending)
  return { kind: 'ok', status, usage, chunks }
}

/** The worker answered as if nothing were missing; the client at least hears it at the end. */
function tellTruncation(deps: InferenceDeps, finishing: Finishing, { usage }: Ending): void {
  const { request, active, client, upstream } = finishing
  const { contextChars } = request.facts
  const { promptTokens } = usage
  const workerVersion = deps.versionOf(upstream.worker)
  if (!wasTruncated({ promptChars: contextChars, promptTokens, workerVersion })) return
  const tokens = promptTokens ?? 0
  notice(deps, active, 'prompt.truncated', {
    worker: upstream.worker,
    model: request.name.key,
    chars: contextChars,
    tokens,
  })
  const warning = `the worker cut the prompt: it read ${tokens} tokens of ${contextChars} characters`
  client.trailers({ 'x-ogw-warning': warning })
}

function brokenFault(end: RelayEnd, worker: string, bytesSent: number): Fault {
  return end.kind === 'absent' || end.kind === 'timeout'
    ? { code: 'worker_silent', worker, silentMs: end.silentMs }
    : { code: 'worker_cut', worker, bytesSent }
}

/** As an event of the dialect after a begun stream; as a status where nothing has gone out yet. */
function tellInside({ request, client, result }: Finishing, error: GatewayError): void {
  if (client.gone) return
  if (!client.committed) throw error
  const { framing, errors } = request.dialect
  if (framing === 'none' || !request.facts.stream) {
    client.destroy() // a length was promised, or a document is open: only a break is honest
    return
  }
  client.write(Buffer.from(errors.streamTail(error, request.ctx.id, result.tail)))
  client.end()
}

function reasonOf(reason: unknown): GatewayError {
  return reason instanceof GatewayError ? reason : new GatewayError({ code: 'shutting_down' })
}

/** Rates come from whole inference alone: the worker's own durations, else the stream's pace. */
function learn(deps: InferenceDeps, finishing: Finishing, { usage }: Ending): void {
  const { request, active, upstream, result } = finishing
  if (request.facts.kind !== 'inference') return
  const { promptTokens, outputTokens, promptNs, outputNs } = usage
  const { promptChars, images } = request.facts
  if (promptTokens !== undefined) {
    const countsWhole = countsWholePrompts(deps.versionOf(upstream.worker))
    deps.ratios.learn(request.name.key, { promptChars, images, promptTokens, countsWhole })
  }
  const streamMs =
    request.facts.stream && active.firstByteAt !== undefined && result.chunks > 1
      ? deps.clock.mono() - active.firstByteAt
      : undefined
  deps.tell({
    type: 'learned',
    worker: upstream.worker,
    model: request.name.key,
    sample: {
      promptTokens,
      promptMs: promptNs === undefined ? undefined : promptNs / 1e6,
      outputTokens: outputTokens ?? (streamMs === undefined ? undefined : result.chunks),
      outputMs: outputNs === undefined ? streamMs : outputNs / 1e6,
    },
  })
}
