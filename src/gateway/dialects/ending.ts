// What the judges of the dialects share: counts as they are told, and the ends that are not told.

import type { Ending, Usage } from './dialect.ts'
import { field, isRecord, text, type JsonRecord } from './json-fields.ts'
import { readJsonTail, type JsonTail } from './json-tail.ts'

export const NO_USAGE: Usage = {
  promptTokens: undefined,
  outputTokens: undefined,
  promptNs: undefined,
  outputNs: undefined,
  loadNs: undefined,
}

export function complete(usage: Usage): Ending {
  return { complete: true, error: undefined, told: false, usage }
}

export function incomplete(usage: Usage = NO_USAGE): Ending {
  return { complete: false, error: undefined, told: false, usage }
}

export function failed(error: string, usage: Usage = NO_USAGE): Ending {
  return { complete: false, error, told: true, usage }
}

/** A count as a worker reported it; nonsense is no report. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** A count that cannot be nothing: a prompt has tokens, so 0 means that nobody counted. */
export function positive(value: unknown): number | undefined {
  return count(value) === 0 ? undefined : count(value)
}

/**
 * OpenAI's and Anthropic's usage objects. undefined for null, for zeros (older workers put a zero
 * usage on every chunk) and for anything else that reports nothing.
 */
export function compatUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const promptTokens = positive(value['prompt_tokens'] ?? value['input_tokens'])
  const outputTokens = count(value['completion_tokens'] ?? value['output_tokens'])
  if (promptTokens === undefined && (outputTokens ?? 0) === 0) return undefined
  return { ...NO_USAGE, promptTokens, outputTokens }
}

/** The text of an `error` member: a string (native), or an object with a message (all others). */
export function errorText(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (!isRecord(value)) return undefined
  const message = text(field(value, 'message'))
  return message === '' ? JSON.stringify(value) : message
}

/** One JSON document. It may be longer than the tail, so `isEnd` says how its end is recognised. */
export function documentEnding(
  tail: Buffer,
  usageOf: (object: JsonRecord) => Usage | undefined,
  isEnd: (end: JsonTail) => boolean,
): Ending {
  const end = readJsonTail(tail)
  if (end === undefined) return incomplete()
  const error = errorText(end.object['error'])
  if (error !== undefined) return failed(error)
  const usage = usageOf(end.object) ?? NO_USAGE
  return isEnd(end) ? complete(usage) : incomplete(usage)
}
