// Characters per token of each model, learned from what workers counted. In memory: after a
// restart the first few long prompts teach it again.

import { DEFAULT_CHARS_PER_TOKEN } from '../policy/context-guard.ts'
import { learnCharsPerToken } from '../policy/token-learning.ts'
import type { TokenSample } from '../policy/token-learning.ts'

/** Models of a whole fleet, and room for those that were renamed. */
const MAX_MODELS = 10_000

export class TokenRatios {
  readonly #ratios = new Map<string, number>()

  charsPerToken(modelKey: string): number {
    return this.#ratios.get(modelKey) ?? DEFAULT_CHARS_PER_TOKEN
  }

  learn(modelKey: string, sample: TokenSample): void {
    const ratio = learnCharsPerToken(this.#ratios.get(modelKey), sample)
    if (ratio === undefined) return
    if (this.#ratios.size >= MAX_MODELS) this.#ratios.clear()
    this.#ratios.set(modelKey, ratio)
  }
}
