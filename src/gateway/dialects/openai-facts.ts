// What the /v1 dialects share: no native options, streams only on request.

import type { Tally } from './content.ts'
import type { RequestFacts } from './dialect.ts'
import { field, record, text } from './json-fields.ts'

type Fields = ReadonlyMap<string, unknown>

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
    user: undefined,
    background: false,
  }
}

/** reasoning_effort or reasoning.effort that is not "none". */
export function reasoningAsked(fields: Fields): boolean {
  const reasoning = record(fields.get('reasoning')) ?? {}
  const effort = text(fields.get('reasoning_effort') ?? field(reasoning, 'effort'))
  return effort !== '' && effort !== 'none'
}

/** stream_options.include_usage */
export function usageAsked(fields: Fields): boolean {
  return field(record(fields.get('stream_options')) ?? {}, 'include_usage') === true
}
