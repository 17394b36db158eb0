// Learns how many characters of a model's prompts make a token, from what workers have counted.
// Only what is plausible teaches: a prompt that was cut without a word has far fewer tokens than
// its text, and would teach that everything fits.

import { DEFAULT_CHARS_PER_TOKEN } from './context-guard.ts'

/** Below this the template around a prompt says more than the prompt. */
const MIN_CHARS = 400
/** Outside of these no tokenizer works: the count is of a cut prompt. */
const FEWEST_CHARS = 0.25
const MOST_CHARS = 8
const NEWEST_WEIGHT = 0.2
/**
 * A prompt that was cut a little looks like a generous tokenizer: what that teaches stays within
 * the margin, so that text of four characters a token is still not taken for shorter than it is.
 */
const MOST_LEARNED = 4.5
/** Chinese has about one. One client's emoji are not to make everybody's prompts too long. */
const LEAST_LEARNED = 1

export interface TokenSample {
  promptChars: number
  images: number
  promptTokens: number
  /** Older workers leave out what was in their cache, which would teach that everything fits. */
  countsWhole: boolean
}

/** Characters per token after one more sample; the same value where it taught nothing. */
export function learnCharsPerToken(
  known: number | undefined,
  { promptChars, images, promptTokens, countsWhole }: TokenSample,
): number | undefined {
  if (!countsWhole || images > 0 || promptChars < MIN_CHARS || promptTokens <= 0) return known
  const ratio = promptChars / promptTokens
  if (ratio < FEWEST_CHARS || ratio > MOST_CHARS) return known
  const before = known ?? DEFAULT_CHARS_PER_TOKEN
  const mean = before + (ratio - before) * NEWEST_WEIGHT
  return Math.min(MOST_LEARNED, Math.max(LEAST_LEARNED, mean))
}
