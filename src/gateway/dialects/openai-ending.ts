// The end of OpenAI's answers: `data: [DONE]` after chunks of which any may carry usage or an error.

import type { Ending, Usage } from './dialect.ts'
import {
  compatUsage,
  complete,
  documentEnding,
  errorText,
  failed,
  incomplete,
  NO_USAGE,
} from './ending.ts'
import type { JsonRecord } from './json-fields.ts'
import { parseObject, type JsonTail } from './json-tail.ts'
import { readSseTail, type SseEvent } from './sse-tail.ts'

export function openaiStreamEnding(tail: Buffer): Ending {
  const { events } = readSseTail(tail)
  const chunks = events.filter((event) => !isDone(event))
  const usage = lastUsage(chunks)
  const error = chunks.map(errorOf).find((message) => message !== undefined)
  if (error !== undefined) return failed(error, usage)
  if (chunks.length < events.length) return complete(usage)
  if (isSwallowedError(chunks.at(-1))) {
    return {
      ...failed('the worker ended the stream with an error that it did not name', usage),
      told: false,
    }
  }
  return incomplete(usage)
}

/** The document of any /v1 route. */
export function compatDocumentEnding(tail: Buffer): Ending {
  return documentEnding(tail, (object) => compatUsage(object['usage']), isCompatEnd)
}

/** Every answer of the /v1 routes ends with its usage, so a fragment with it is an end. */
function isCompatEnd({ whole, object }: JsonTail): boolean {
  return whole || 'usage' in object
}

function isDone({ data }: SseEvent): boolean {
  return data.trim() === '[DONE]'
}

/** The last that reports anything; zeros and nulls on other chunks are no reports. */
function lastUsage(chunks: readonly SseEvent[]): Usage {
  for (const chunk of chunks.toReversed()) {
    const usage = compatUsage(member(chunk, 'usage'))
    if (usage !== undefined) return usage
  }
  return NO_USAGE
}

function errorOf(chunk: SseEvent): string | undefined {
  return errorText(member(chunk, 'error'))
}

/** Most chunks do not have the member, and are not parsed: inside a string its quotes are escaped. */
function member({ data }: SseEvent, key: string): unknown {
  return data.includes(`"${key}"`) ? parseObject(data)?.[key] : undefined
}

/**
 * A worker whose runner dies sends one more chunk with an empty model and nothing in it: Ollama
 * decodes its own error line as an empty answer, and the text is lost.
 */
function isSwallowedError(chunk: SseEvent | undefined): boolean {
  const object: JsonRecord | undefined = chunk && parseObject(chunk.data)
  return object?.['model'] === ''
}
