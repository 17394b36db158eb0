// A rough count of prompt tokens where no worker has counted them: four characters each, as the
// common tokenizers have for English, and a fixed part an image.

import type { RequestFacts } from '../dialects/dialect.ts'

const CHARS_PER_TOKEN = 4
/** Ollama's own assumption for models with a projector (ollama-api.md §8.7). */
const TOKENS_PER_IMAGE = 768

/** Output tokens a request is taken to cost where its client named no bound. */
export const UNKNOWN_OUTPUT_TOKENS = 256

export function estimateTokens(facts: Pick<RequestFacts, 'promptChars' | 'images'>): number {
  return Math.ceil(facts.promptChars / CHARS_PER_TOKEN) + facts.images * TOKENS_PER_IMAGE
}
