// Learns how fast one worker runs one model: exponentially weighted means of tokens per second, of
// the prompt and of the output, from completed inference only.

export interface Rates {
  /** Prompt tokens per second; undefined until a completed request told it. */
  promptPerS: number | undefined
  promptSamples: number
  /** Output tokens per second; undefined until a completed request told it. */
  outputPerS: number | undefined
  outputSamples: number
  /** Wall clock time of the newest sample, in milliseconds. */
  updatedAt: number
}

/** What one completed request measured. Undefined and nonsense teach nothing. */
export interface RateSample {
  promptTokens: number | undefined
  promptMs: number | undefined
  outputTokens: number | undefined
  outputMs: number | undefined
}

/** Weight of a new sample once enough are known; the first few are averaged evenly. */
const NEWEST_WEIGHT = 0.2

/** Beyond this a clock was wrong, not a worker fast. */
const MAX_TOKENS_PER_S = 1_000_000

export const noRates: Rates = {
  promptPerS: undefined,
  promptSamples: 0,
  outputPerS: undefined,
  outputSamples: 0,
  updatedAt: 0,
}

/** The rates after one more completed request; the same object where it taught nothing. */
export function learn(rates: Rates, sample: RateSample, wallNow: number): Rates {
  const prompt = perSecond(sample.promptTokens, sample.promptMs)
  const output = perSecond(sample.outputTokens, sample.outputMs)
  if (prompt === undefined && output === undefined) return rates
  return {
    promptPerS: mean(rates.promptPerS, rates.promptSamples, prompt),
    promptSamples: rates.promptSamples + (prompt === undefined ? 0 : 1),
    outputPerS: mean(rates.outputPerS, rates.outputSamples, output),
    outputSamples: rates.outputSamples + (output === undefined ? 0 : 1),
    updatedAt: wallNow,
  }
}

/** Rates as they may be used after being stored: no nonsense, and no sample from the future. */
export function restoredRates(stored: Rates, wallNow: number): Rates | undefined {
  const promptPerS = plausible(stored.promptPerS)
  const outputPerS = plausible(stored.outputPerS)
  if (promptPerS === undefined && outputPerS === undefined) return undefined
  return {
    promptPerS,
    promptSamples: promptPerS === undefined ? 0 : countOf(stored.promptSamples),
    outputPerS,
    outputSamples: outputPerS === undefined ? 0 : countOf(stored.outputSamples),
    updatedAt: Math.min(Number.isFinite(stored.updatedAt) ? stored.updatedAt : 0, wallNow),
  }
}

function mean(
  before: number | undefined,
  samples: number,
  sample: number | undefined,
): number | undefined {
  if (sample === undefined) return before
  if (before === undefined) return sample
  const weight = Math.max(NEWEST_WEIGHT, 1 / (samples + 1))
  return before + weight * (sample - before)
}

function perSecond(tokens: number | undefined, ms: number | undefined): number | undefined {
  if (tokens === undefined || ms === undefined || !(ms > 0)) return undefined
  return plausible((tokens * 1000) / ms)
}

function plausible(rate: number | undefined): number | undefined {
  return rate !== undefined && rate > 0 && rate <= MAX_TOKENS_PER_S ? rate : undefined
}

function countOf(samples: number): number {
  return Number.isSafeInteger(samples) && samples > 0 ? samples : 1
}
