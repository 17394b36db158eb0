// POST /v1/messages/count_tokens, which no Ollama has: without it Claude Code counts by running
// the prompt. Answered here, by an estimate; no worker is asked.

import { anthropic } from '../dialects/anthropic.ts'
import { countTokensBody } from '../dialects/anthropic-count.ts'
import type { JsonRecord } from '../dialects/json-fields.ts'
import { sendAnswer } from './answer.ts'
import type { RequestContext } from './request-context.ts'

export interface CountTokensDeps {
  /** The body as an object; throws GatewayError where there is none or it is no JSON object. */
  readJson(ctx: RequestContext): Promise<JsonRecord>
  /** `vision_reserve_tokens_per_image` as the config has it now. */
  tokensPerImage(): number
}

export async function handleCountTokens(deps: CountTokensDeps, ctx: RequestContext): Promise<void> {
  const body = await deps.readJson(ctx)
  const facts = anthropic.read(body, ctx.path)
  const headers = { 'content-type': 'application/json' }
  sendAnswer(ctx, { status: 200, headers, body: countTokensBody(facts, deps.tokensPerImage()) })
}
