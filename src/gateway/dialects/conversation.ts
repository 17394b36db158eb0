// How a conversation is known again in its later turns: by its instructions and its first user
// message, which every turn repeats. Of each only the two ends are kept: coding agents begin all
// their conversations with the same pages and differ at the end.

import { textOfContent } from './content.ts'
import { field, isRecord, list, text, type Fields } from './json-fields.ts'

/** UTF-16 units from each end of each text: four such ends are at most 3 KiB of UTF-8. */
const END_UNITS = 256

const INSTRUCTING = new Set(['system', 'developer'])

/** At most 4 KiB. Empty where there is neither an instruction nor a message. */
export function conversationOf(instructions: string, messages: readonly unknown[]): string {
  const leading = messages.findIndex((message) => !INSTRUCTING.has(roleOf(message)))
  const said = leading === -1 ? messages : messages.slice(0, leading)
  const system = [instructions, ...said.map(contentText)].join('')
  const first = messages.find((message) => roleOf(message) === 'user') ?? messages[said.length]
  return joined(ends(system), first === undefined ? '' : ends(contentText(first)))
}

/** A prompt grows at its end from turn to turn, so only its beginning can be known again. */
export function conversationOfPrompt(instructions: string, prompt: string): string {
  return joined(ends(instructions), prompt.slice(0, END_UNITS))
}

/** Open WebUI's titles, tags and follow-ups begin so. */
export function isBackgroundTask(messages: readonly unknown[]): boolean {
  const first = messages[0]
  return first !== undefined && contentText(first).startsWith('### Task:')
}

/** The longest session or user id that is kept; longer ones are cut, not refused. */
const MAX_USER_UNITS = 256

/** Who is asking, as far as the body says: nobody vouches for it. */
export function userOf(fields: Fields): string | undefined {
  const metadata = fields.get('metadata')
  const candidates = [
    fields.get('user'),
    isRecord(metadata) ? field(metadata, 'user_id') : undefined,
    fields.get('safety_identifier'),
    fields.get('prompt_cache_key'),
    fields.get('session_id'),
  ]
  const found = candidates.map((value) => text(value).trim()).find((value) => value !== '')
  return found?.slice(0, MAX_USER_UNITS)
}

function joined(system: string, first: string): string {
  return system === '' && first === '' ? '' : `${system}\n${first}`
}

/** The length stands for what was left out between the ends. */
function ends(value: string): string {
  if (value.length <= 2 * END_UNITS) return value
  return `${value.length}:${value.slice(0, END_UNITS)}${value.slice(-END_UNITS)}`
}

function roleOf(message: unknown): string {
  return isRecord(message) ? text(field(message, 'role')).toLowerCase() : 'user'
}

function contentText(message: unknown): string {
  return isRecord(message) ? textOfContent(field(message, 'content')) : text(message)
}

/** The messages of a chat dialect. */
export function messagesOf(fields: Fields): readonly unknown[] {
  return list(fields.get('messages'))
}
