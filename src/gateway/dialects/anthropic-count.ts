// /v1/messages/count_tokens, which Ollama does not have: Claude Code would count through the
// inference endpoint instead. Answered here, by the same rough measure as Ollama's own estimate.

import type { RequestFacts } from './dialect.ts'

const CHARS_PER_TOKEN = 4

export function countTokensEstimate(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN)
}

/** The answer's body. `tokensPerImage` is vision_reserve_tokens_per_image. */
export function countTokensBody(
  { promptChars, images }: Pick<RequestFacts, 'promptChars' | 'images'>,
  tokensPerImage: number,
): string {
  return JSON.stringify({
    input_tokens: countTokensEstimate(promptChars) + images * tokensPerImage,
  })
}
