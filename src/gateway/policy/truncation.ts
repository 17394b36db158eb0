// Tells from a worker's own count that it cut a prompt: Ollama drops what does not fit its context
// and answers 200. No tokenizer makes so many characters into so few tokens.

import { compareVersions, versionNumbers } from './version.ts'

/** Below this a template's tokens blur the ratio. */
const MIN_CHARS = 2_000
/** English has about four characters a token, whitespace and base64 runs a few more. */
const MOST_CHARS_PER_TOKEN = 8
/** Older workers do not count the part of a prompt that was in their cache. */
const COUNTS_WHOLE_PROMPTS = [0, 30, 0]

export interface Counted {
  promptChars: number
  promptTokens: number | undefined
  workerVersion: string | undefined
}

export function wasTruncated({ promptChars, promptTokens, workerVersion }: Counted): boolean {
  if (promptTokens === undefined || promptTokens <= 0 || promptChars < MIN_CHARS) return false
  if (!countsWholePrompts(workerVersion)) return false
  return promptChars / promptTokens > MOST_CHARS_PER_TOKEN
}

/** False also where the version is unknown. */
export function countsWholePrompts(workerVersion: string | undefined): boolean {
  const version = versionNumbers(workerVersion)
  return version !== undefined && compareVersions(version, COUNTS_WHOLE_PROMPTS) >= 0
}
