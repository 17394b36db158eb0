// The input of an embedding request: one text or a batch, whose items run each in a context of
// their own.

import { list, text } from './json-fields.ts'

export interface EmbeddingInput {
  /** Nothing to embed: such a request only loads the model. */
  empty: boolean
  chars: number
  /** Characters of the longest item. */
  longest: number
}

export function embeddingInput(input: unknown): EmbeddingInput {
  if (typeof input === 'string') {
    return { empty: input === '', chars: input.length, longest: input.length }
  }
  const lengths = list(input).map((item) => text(item).length)
  return {
    empty: input === undefined || (Array.isArray(input) && input.length === 0),
    chars: lengths.reduce((sum, length) => sum + length, 0),
    longest: lengths.reduce((longest, length) => Math.max(longest, length), 0),
  }
}
