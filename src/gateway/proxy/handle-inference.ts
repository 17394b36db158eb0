// The whole life of one inference request, from its first header to its last byte.

import { permitModel } from '../access/visitor.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import { traceContextOf } from '../observe/trace-context.ts'
import type { Reservation } from '../policy/credits.ts'
import { fallbackFor, resolveModel } from '../policy/resolve-model.ts'
import type { Obstacle } from '../policy/resolve-model.ts'
import type { ActiveRequest } from './active-requests.ts'
import { isBackground } from './ask-of.ts'
import { ClientGone } from './active-requests.ts'
import { sendAnswer, sendFailure } from './answer.ts'
import { ClientStream } from './client-stream.ts'
import type { InferenceDeps, InferenceRequest } from './inference-deps.ts'
import { InferenceRun } from './inference-run.ts'
import { notice } from './notice.ts'
import { readRequestBody } from './read-body.ts'
import type { RequestContext } from './request-context.ts'
import { recordOf } from './request-outcome.ts'
import type { Outcome } from './request-outcome.ts'

export async function handleInference(
  deps: InferenceDeps,
  ctx: RequestContext,
  dialect: Dialect,
): Promise<void> {
  const { id, path, startedAt } = ctx
  const trace = traceContextOf(ctx.req.headers, deps.recordsTraces())
  const active = deps.active.open({ id, path, dialect: dialect.name, receivedAt: startedAt, trace })
  const onClose = (): void => {
    if (!ctx.res.writableFinished) deps.active.clientGone(active)
  }
  ctx.res.once('close', onClose)
  const client = new ClientStream(ctx)
  let request: InferenceRequest | undefined
  let outcome: Outcome = { kind: 'failed', status: 500, code: 'internal' }
  let charge: Reservation | undefined
  try {
    request = await readRequest(deps, ctx, dialect)
    describe(active, request)
    charge = deps.charge(request)
    outcome = await serve(deps, { request, active, client })
  } catch (error) {
    outcome = report(ctx, dialect, { client, active, error })
  } finally {
    ctx.res.off('close', onClose)
    deps.active.close(active)
    const record = recordOf({ outcome, active, request, dialect, now: deps.clock.mono() })
    charge?.settle(record.promptTokens + record.outputTokens)
    deps.done(record)
  }
}

interface Serving {
  request: InferenceRequest
  active: ActiveRequest
  client: ClientStream
}

/** Known from here on, also where the request is refused. */
function describe(active: ActiveRequest, request: InferenceRequest): void {
  active.model = request.name.key
  if (request.means === 'alias') active.askedModel = request.facts.model
  active.background = isBackground(request)
  active.tenant = request.identity.tenant
  active.actor = request.identity.actor
}

async function serve(deps: InferenceDeps, serving: Serving): Promise<Outcome> {
  const { request, active } = serving
  if (request.facts.kind === 'unload') {
    const { status, contentType, body } = await deps.unload(request)
    sendAnswer(request.ctx, { status, headers: { 'content-type': contentType }, body })
    return { kind: 'control', status }
  }
  try {
    return await new InferenceRun(deps, serving).toTheEnd()
  } catch (error) {
    const instead = fallbackOf(deps, serving, error)
    if (instead === undefined) throw error
    active.model = instead.name.key
    active.askedModel = request.facts.model
    return await new InferenceRun(deps, { ...serving, request: instead }).toTheEnd()
  }
}

/** The request with another model, where the operator has written down that it may run instead. */
function fallbackOf(
  deps: InferenceDeps,
  { request, active }: Serving,
  error: unknown,
): InferenceRequest | undefined {
  const obstacle = obstacleOf(error)
  if (obstacle === undefined || request.means === 'fallback') return undefined
  const name = fallbackFor(deps.config().fallbacks, request.name, obstacle)
  if (name === undefined) return undefined
  permitModel(request.ctx.visitor, name)
  notice(deps, active, 'model.fallback', { model: request.name.key, use: name.key })
  request.ctx.answerHeaders['x-ogw-model-fallback'] = encodeURI(name.display)
  return { ...request, name, means: 'fallback' }
}

function obstacleOf(error: unknown): Obstacle | undefined {
  if (!(error instanceof GatewayError)) return undefined
  const { fault } = error
  switch (fault.code) {
    case 'capability_missing':
      return { kind: 'missing', missing: fault.missing }
    case 'no_worker_up':
    case 'attempts_failed':
    case 'attempts_timed_out':
      return { kind: 'absent' }
    default:
      return undefined
  }
}

async function readRequest(
  deps: InferenceDeps,
  ctx: RequestContext,
  dialect: Dialect,
): Promise<InferenceRequest> {
  const { clock, parsers } = deps
  const reader = { clock, parsers, maxBytes: deps.config().admission.max_body_bytes }
  const body = await readRequestBody(reader, ctx, dialect)
  const { facts } = body.parsed
  const meant = resolveModel(deps.config().aliases, facts.model)
  if (!meant.ok) throw new GatewayError({ code: 'invalid_request', detail: meant.reason })
  const { name } = meant
  permitModel(ctx.visitor, name)
  const means = meant.aliased ? 'alias' : 'itself'
  return { ...body, ctx, dialect, facts, name, means, identity: deps.identify(ctx, facts) }
}

interface Failing {
  client: ClientStream
  active: ActiveRequest
  error: unknown
}

/** Tells the client in its own words what went wrong; before or inside the answer. */
function report(
  ctx: RequestContext,
  dialect: Dialect,
  { client, active, error }: Failing,
): Outcome {
  if (error instanceof ClientGone || (client.gone && !(error instanceof GatewayError))) {
    return { kind: 'client_gone' }
  }
  if (!(error instanceof GatewayError)) throw error // a bug: the server logs it and answers 500
  const { status } = error
  const { code } = error.fault
  if (ctx.res.destroyed) return { kind: 'client_gone' }
  if (!client.committed) {
    if (active.worker !== undefined) ctx.answerHeaders['x-ogw-attempts'] = active.attempts
    sendFailure(ctx, dialect.errors, error)
  } else if (dialect.framing !== 'none') {
    client.write(Buffer.from(dialect.errors.streamTail(error, ctx.id)))
    client.end()
  } else {
    client.destroy()
  }
  return { kind: 'failed', status, code }
}
