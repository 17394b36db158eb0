// A request as admission sees it.

import { hash } from 'node:crypto'
import type { Ask } from '../admission/ask.ts'
import type { InferenceRequest } from './inference-deps.ts'
import { estimateTokens } from './token-estimate.ts'

/** Output tokens a request is taken to cost where its client named no bound. */
const UNKNOWN_OUTPUT_TOKENS = 256

interface Waits {
  failed: ReadonlyMap<string, string>
  maxWaitMs: number
  receivedAt: number
  now: number
}

export function askOf(request: InferenceRequest, waits: Waits): Ask {
  const { facts, name, identity, ctx } = request
  const { numCtx } = facts
  const deadlineMs = Math.min(waits.maxWaitMs, stainlessTimeoutMs(ctx.req.headers))
  return {
    requestId: ctx.id,
    model: name,
    needs: facts.needs,
    contextTokens: undefined,
    numCtx: typeof numCtx === 'number' && Number.isInteger(numCtx) ? numCtx : undefined,
    cost: Math.max(1, estimateTokens(facts) + (facts.outputTokens ?? UNKNOWN_OUTPUT_TOKENS)),
    tenant: identity.tenant,
    actor: identity.actor,
    priority: facts.background ? 'background' : 'interactive',
    affinity: identity.session ?? hashOf(facts.conversation),
    keepsAlive: facts.keepAlive !== undefined,
    waitUntil: waits.receivedAt + deadlineMs,
    enteredAt: waits.receivedAt,
    failed: waits.failed,
  }
}

/** OpenAI and Anthropic SDKs say in seconds when they will give up (clients.md finding 5). */
function stainlessTimeoutMs(headers: InferenceRequest['ctx']['req']['headers']): number {
  const seconds = Number(headers['x-stainless-timeout'])
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY
}

function hashOf(conversation: string): string | undefined {
  if (conversation === '') return undefined
  return hash('sha1', conversation, 'base64url')
}
