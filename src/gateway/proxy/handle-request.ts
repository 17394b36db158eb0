// The front desk: every request passes the guard, gets its CORS headers, and goes to the handler
// of its route. What is refused here never reaches a worker.

import type { RouteNeed } from '../access/gatekeeper.ts'
import { guardRequest, originHeaders, preflightHeaders } from '../access/http-guard.ts'
import type { GuardRules } from '../access/http-guard.ts'
import type { Visitor } from '../access/visitor.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import { sendAnswer, sendFailure } from './answer.ts'
import { errorFormFor } from './error-form.ts'
import { accountRefusal, baseUrlHint, managementRefusal } from './refusals.ts'
import type { RequestContext } from './request-context.ts'
import { findRoute } from './routes.ts'
import type { DiscoveryRoute, ManagementRoute, Route } from './routes.ts'
import { needOf } from './route-needs.ts'

type Handled = void | Promise<void>

export interface RequestDeps {
  /** The rules as the config has them now. */
  guard(): GuardRules
  /** Who asks; throws GatewayError where the request may not come in. */
  admit(ctx: RequestContext, need: RouteNeed): Visitor
  handleInference(ctx: RequestContext, dialect: Dialect): Handled
  handleDiscovery(ctx: RequestContext, name: DiscoveryRoute): Handled
  handleModel(ctx: RequestContext, id: string): Handled
  handleShow(ctx: RequestContext): Handled
  handleCountTokens(ctx: RequestContext): Handled
  handleManagement(ctx: RequestContext, name: ManagementRoute): Handled
}

/** Answers one request. Throws GatewayError where the server is to word the failure. */
export async function handleRequest(deps: RequestDeps, ctx: RequestContext): Promise<void> {
  if (!passGuard(deps.guard(), ctx)) return
  const method = ctx.req.method ?? 'GET'
  const match = findRoute(method, ctx.path)
  switch (match.found) {
    case 'route':
      letIn(deps, ctx, match.route)
      await handleRoute(deps, ctx, match.route)
      return
    case 'other_method':
      sendOtherMethod(ctx, match.allow)
      return
    case 'nothing':
      sendNothing(ctx, match.meant)
  }
}

/** False once the request is answered: refused, or a preflight. */
function passGuard(rules: GuardRules, ctx: RequestContext): boolean {
  const { method, headers } = ctx.req
  const verdict = guardRequest(rules, headers.host, headers.origin)
  if (!verdict.allowed) {
    sendAnswer(ctx, { status: 403, headers: {}, body: '' })
    return false
  }
  const { origin } = verdict
  if (origin === undefined) return true
  if (method !== 'OPTIONS') {
    Object.assign(ctx.answerHeaders, originHeaders(origin))
    return true
  }
  const requested = headers['access-control-request-headers']
  sendAnswer(ctx, { status: 204, headers: preflightHeaders(origin, requested), body: '' })
  return false
}

/** Throws GatewayError. A route without a need is open to whoever reaches the listener. */
function letIn(deps: RequestDeps, ctx: RequestContext, route: Route): void {
  const need = needOf(route)
  if (need === undefined) return
  try {
    ctx.visitor = deps.admit(ctx, need)
  } catch (error) {
    const isForbidden = error instanceof GatewayError && error.fault.code === 'forbidden'
    if (isForbidden && route.kind === 'management') throw managementRefusal(route.name)
    throw error
  }
}

function handleRoute(deps: RequestDeps, ctx: RequestContext, route: Route): Handled {
  switch (route.kind) {
    case 'inference':
      return deps.handleInference(ctx, route.dialect)
    case 'discovery':
      return deps.handleDiscovery(ctx, route.name)
    case 'model':
      return deps.handleModel(ctx, route.id)
    case 'show':
      return deps.handleShow(ctx)
    case 'count_tokens':
      return deps.handleCountTokens(ctx)
    case 'management':
      return deps.handleManagement(ctx, route.name)
    case 'account':
      throw accountRefusal(route.asks)
  }
}

const PLAIN = { 'content-type': 'text/plain' }

/** OPTIONS that no page sent (a preflight has an Origin) only asks what the path can do. */
function sendOtherMethod(ctx: RequestContext, allow: string): void {
  if (ctx.req.method === 'OPTIONS') {
    sendAnswer(ctx, { status: 204, headers: { allow }, body: '' })
    return
  }
  const headers = { ...PLAIN, allow }
  sendAnswer(ctx, { status: 405, headers, body: '405 method not allowed' })
}

function sendNothing(ctx: RequestContext, meant: string | undefined): void {
  if (meant === undefined) {
    sendAnswer(ctx, { status: 404, headers: PLAIN, body: '404 page not found' })
    return
  }
  const error = new GatewayError({ code: 'not_found', detail: baseUrlHint(ctx.path, meant) })
  sendFailure(ctx, errorFormFor(meant, ctx.req.headers), error)
}
