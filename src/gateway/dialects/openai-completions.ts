// OpenAI's older /v1/completions: one prompt, rendered through the model's template.

import { conversationOfPrompt } from './conversation.ts'
import { emptyTally, tallyContent } from './content.ts'
import type { Dialect } from './dialect.ts'
import { SSE_HEARTBEAT } from './frames.ts'
import { foldKeys, positiveInteger, text } from './json-fields.ts'
import { compatFacts, usageAsked } from './openai-facts.ts'
import { compatDocumentEnding, openaiStreamEnding } from './openai-ending.ts'
import { openaiErrors } from './openai-errors.ts'
import { requestModel } from './request-model.ts'

export const openaiCompletions: Dialect = {
  name: 'openai-completions',
  errors: openaiErrors,
  framing: 'sse',
  heartbeat: SSE_HEARTBEAT,

  read(body, path) {
    const fields = foldKeys(body)
    const model = requestModel(fields, path)
    const prompt = fields.get('prompt') ?? ''
    const suffix = text(fields.get('suffix'))
    const tally = emptyTally()
    tallyContent(tally, prompt)
    tally.chars += suffix.length
    return {
      ...compatFacts(fields, model, tally),
      // Ollama runs this as generate, where no prompt means: only load the model.
      kind: prompt === '' ? 'load' : 'inference',
      needs: suffix === '' ? ['completion'] : ['completion', 'insert'],
      outputTokens: positiveInteger(fields.get('max_tokens')),
      usageInStream: usageAsked(fields),
      conversation: conversationOfPrompt('', text(prompt)),
    }
  },

  ending: (tail, streamed) => (streamed ? openaiStreamEnding(tail) : compatDocumentEnding(tail)),
}
