// What the messages of a request weigh. The shapes of all dialects are told apart by their `type`
// tags, so one reader serves them; what it does not know weighs its text or nothing.

import { field, isRecord, jsonLength, list, record, text, type JsonRecord } from './json-fields.ts'

/** Characters that become prompt tokens, and what is not text. Base64 is never characters. */
export interface Tally {
  chars: number
  images: number
  audio: boolean
}

export function emptyTally(): Tally {
  return { chars: 0, images: 0, audio: false }
}

/** One message of any chat dialect, or one input item of Responses. */
export function tallyMessage(tally: Tally, message: unknown): void {
  if (!isRecord(message)) {
    tally.chars += text(message).length
    return
  }
  tallyContent(tally, field(message, 'content'))
  for (const name of SPOKEN) tally.chars += text(field(message, name)).length
  for (const image of list(field(message, 'images'))) {
    if (image !== '' && image !== null) tally.images += 1
  }
  for (const call of list(field(message, 'tool_calls'))) tallyToolCall(tally, call)
}

/** Thoughts that are passed back, under the names clients give them. */
const SPOKEN = ['thinking', 'reasoning', 'reasoning_content', 'tool_name'] as const

/** A content string, or parts (OpenAI), blocks (Anthropic) or content items (Responses). */
export function tallyContent(tally: Tally, content: unknown, depth = 0): void {
  if (typeof content === 'string') {
    tally.chars += content.length
    return
  }
  for (const part of list(content)) {
    if (isRecord(part)) tallyPart(tally, part, depth)
    else tally.chars += text(part).length
  }
}

/** Tools are rendered into the prompt about as they were sent. */
export function tallyTools(tally: Tally, tools: readonly unknown[]): void {
  if (tools.length > 0) tally.chars += jsonLength(tools)
}

/** Blocks nest once (an image in a tool's result); deeper is not a shape of any dialect. */
const MAX_DEPTH = 2

function tallyPart(tally: Tally, part: JsonRecord, depth: number): void {
  switch (text(field(part, 'type'))) {
    case 'image':
    case 'image_url':
      tally.images += 1
      return
    case 'input_image':
      // A file id alone is skipped by Ollama: there is nothing to look at.
      if (field(part, 'image_url') !== undefined) tally.images += 1
      return
    case 'input_audio':
      tally.audio = true
      return
    case 'tool_use':
    case 'server_tool_use':
      tally.chars += text(field(part, 'name')).length + jsonLength(field(part, 'input') ?? {})
      return
    case 'tool_result':
      if (depth < MAX_DEPTH) tallyContent(tally, field(part, 'content'), depth + 1)
      return
    case 'thinking':
      tally.chars += text(field(part, 'thinking')).length
      return
    default:
      tally.chars += text(field(part, 'text')).length
  }
}

function tallyToolCall(tally: Tally, call: unknown): void {
  const called = record(field(record(call) ?? {}, 'function')) ?? {}
  const given = field(called, 'arguments')
  tally.chars += text(field(called, 'name')).length
  tally.chars += typeof given === 'string' ? given.length : jsonLength(given ?? {})
}

/** The text of a content value, parts joined; other kinds of parts leave no trace. */
export function textOfContent(content: unknown): string {
  if (typeof content === 'string') return content
  return list(content)
    .map((part) => (isRecord(part) ? text(field(part, 'text')) : text(part)))
    .join('')
}
