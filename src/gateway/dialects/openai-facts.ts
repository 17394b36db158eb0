// What the /v1 dialects share: no native options, streams only on request.

import { userOf } from './conversation.ts'
import type { Tally } from './content.ts'
import type { Need, RequestFacts } from './dialect.ts'
import { field, record, text, type Fields } from './json-fields.ts'

/** Facts that are the same for every /v1 route, with the values most of them have. */
export function compatFacts(
  fields: Fields,
  model: string,
  tally: Tally,
): Omit<RequestFacts, 'needs' | 'usageInStream'> {
  return {
    model,
    stream: fields.get('stream') === true,
    kind: 'inference',
    softNeeds: [],
    promptChars: tally.chars,
    contextChars: tally.chars,
    images: tally.images,
    outputTokens: undefined,
    numCtx: undefined,
    keepAlive: undefined,
    conversation: '',
    user: userOf(fields),
    background: false,
  }
}

/** What a conversation with these tools and contents asks of a model. */
export function conversationNeeds(
  fields: Fields,
  tools: readonly unknown[],
  tally: Tally,
): readonly Need[] {
  const needs: Need[] = ['completion']
  if (tools.length > 0) needs.push('tools')
  if (tally.images > 0) needs.push('vision')
  if (tally.audio) needs.push('audio')
  if (reasoningAsked(fields)) needs.push('thinking')
  return needs
}

/** reasoning_effort or reasoning.effort that is not "none". */
function reasoningAsked(fields: Fields): boolean {
  const reasoning = record(fields.get('reasoning')) ?? {}
  const effort = text(fields.get('reasoning_effort') ?? field(reasoning, 'effort'))
  return effort !== '' && effort !== 'none'
}

/** stream_options.include_usage */
export function usageAsked(fields: Fields): boolean {
  return field(record(fields.get('stream_options')) ?? {}, 'include_usage') === true
}
