// OpenAI's /v1/embeddings: never a stream, and no way to ask for a load only.

import { emptyTally } from './content.ts'
import type { Dialect } from './dialect.ts'
import { embeddingInput } from './embedding-input.ts'
import { foldKeys } from './json-fields.ts'
import { compatFacts } from './openai-facts.ts'
import { compatDocumentEnding } from './openai-ending.ts'
import { openaiErrors } from './openai-errors.ts'
import { requestModel } from './request-model.ts'

export const openaiEmbeddings: Dialect = {
  name: 'openai-embeddings',
  errors: openaiErrors,
  framing: 'none',
  heartbeat: undefined,

  read(body, path) {
    const fields = foldKeys(body)
    const model = requestModel(fields, path)
    const input = embeddingInput(fields.get('input'))
    return {
      ...compatFacts(fields, model, emptyTally()),
      stream: false,
      needs: ['embedding'],
      promptChars: input.chars,
      contextChars: input.longest,
      usageInStream: true,
    }
  },

  ending: (tail) => compatDocumentEnding(tail),
}
