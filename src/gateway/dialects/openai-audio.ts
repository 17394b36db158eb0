// OpenAI's /v1/audio/transcriptions: a multipart form, read into fields by the proxy; the answer is
// buffered by the worker and labelled as NDJSON whatever it is.

import { emptyTally } from './content.ts'
import type { Dialect } from './dialect.ts'
import { complete, documentEnding, incomplete, NO_USAGE } from './ending.ts'
import { foldKeys, text } from './json-fields.ts'
import { compatFacts } from './openai-facts.ts'
import { openaiErrors } from './openai-errors.ts'
import { requestModel } from './request-model.ts'

const OPEN_BRACE = 0x7b

export const openaiAudio: Dialect = {
  name: 'openai-audio',
  errors: openaiErrors,
  framing: 'none',
  heartbeat: undefined,

  read(body, path) {
    const fields = foldKeys(body)
    const model = requestModel(fields, path)
    const tally = { ...emptyTally(), chars: text(fields.get('prompt')).length }
    return {
      ...compatFacts(fields, model, tally),
      stream: false,
      needs: ['completion', 'audio'],
      usageInStream: false,
    }
  },

  /** A run that fails in its middle is told as 200 with no body at all. */
  ending(tail) {
    if (tail.length === 0) return incomplete()
    if (tail[0] !== OPEN_BRACE) return complete(NO_USAGE) // response_format "text"
    return documentEnding(
      tail,
      () => undefined,
      () => true,
    )
  },
}
