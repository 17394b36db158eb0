// A request as admission sees it.

import { hash } from 'node:crypto'
import type { Ask } from '../admission/ask.ts'
import type { CapabilitiesConfig } from '../config/schema.ts'
import type { RequestFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import { estimatePrompt, readNumCtx } from '../policy/context-guard.ts'
import type { InferenceRequest } from './inference-deps.ts'
import { estimateTokens, UNKNOWN_OUTPUT_TOKENS } from './token-estimate.ts'

interface Around {
  failed: ReadonlyMap<string, string>
  maxWaitMs: number
  receivedAt: number
  charsPerToken: number
  capabilities: CapabilitiesConfig
}

/**
 * Coding agents ask for 32,000 tokens with every request and take a few hundred: a tenant that was
 * charged those until the end would be behind all others for as long.
 */
function likelyOutput({ outputTokens = UNKNOWN_OUTPUT_TOKENS }: RequestFacts): number {
  return Math.min(outputTokens, UNKNOWN_OUTPUT_TOKENS)
}

/** Throws GatewayError num_ctx_invalid where the context guard refuses. */
export function askOf(request: InferenceRequest, waits: Around): Ask {
  const { facts, name, identity, ctx } = request
  const deadlineMs = Math.min(waits.maxWaitMs, stainlessTimeoutMs(ctx.req.headers))
  return {
    requestId: ctx.id,
    model: name,
    needs: facts.needs,
    ...contextOf(request, waits),
    cost: Math.max(1, estimateTokens(facts) + likelyOutput(facts)),
    tenant: identity.tenant,
    actor: identity.actor,
    priority: isBackground(request) ? 'background' : 'interactive',
    affinity: identity.session ?? hashOf(facts.conversation),
    keepsAlive: facts.keepAlive !== undefined,
    waitUntil: waits.receivedAt + deadlineMs,
    enteredAt: waits.receivedAt,
    failed: waits.failed,
  }
}

/** The client says so by its first message, or whoever it is from only ever does such work. */
export function isBackground({ facts, identity }: InferenceRequest): boolean {
  return facts.background || identity.background
}

type Context = Pick<Ask, 'contextTokens' | 'numCtx'> & { answerTokens: number }

/** What the guard judges; a load or an unload has no prompt. */
function contextOf({ facts, name }: InferenceRequest, around: Around): Context {
  const { context_guard: guard, context: rules } = around.capabilities
  const read = readNumCtx(facts.numCtx)
  if (!read.ok && guard === 'reject') {
    throw new GatewayError({ code: 'num_ctx_invalid', model: name.display, detail: read.detail })
  }
  const numCtx = read.ok ? read.numCtx : undefined
  if (guard === 'off' || facts.kind !== 'inference') {
    return { contextTokens: undefined, answerTokens: 0, numCtx }
  }
  const promptTokens = estimatePrompt(
    { promptChars: facts.contextChars, images: facts.images },
    {
      charsPerToken: around.charsPerToken,
      marginPercent: rules.estimation_margin_percent,
      reservePerImage: rules.vision_reserve_tokens_per_image,
    },
  )
  const answerTokens = Math.max(0, facts.outputTokens ?? 0)
  return { contextTokens: promptTokens + answerTokens, answerTokens, numCtx }
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
