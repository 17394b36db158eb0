// OpenAI's /v1/chat/completions. Streams are off by default, as in all /v1 dialects.

import { conversationOf, isBackgroundTask, messagesOf } from './conversation.ts'
import { emptyTally, tallyMessage, tallyTools } from './content.ts'
import type { Dialect } from './dialect.ts'
import { SSE_HEARTBEAT } from './frames.ts'
import { foldKeys, list, positiveInteger } from './json-fields.ts'
import { compatFacts, conversationNeeds, usageAsked } from './openai-facts.ts'
import { compatDocumentEnding, openaiStreamEnding } from './openai-ending.ts'
import { openaiErrors } from './openai-errors.ts'
import { requestModel } from './request-model.ts'

export const openaiChat: Dialect = {
  name: 'openai-chat',
  errors: openaiErrors,
  framing: 'sse',
  heartbeat: SSE_HEARTBEAT,

  read(body, path) {
    const fields = foldKeys(body)
    const model = requestModel(fields, path)
    const messages = messagesOf(fields)
    const tools = list(fields.get('tools'))
    const tally = emptyTally()
    for (const message of messages) tallyMessage(tally, message)
    tallyTools(tally, tools)
    return {
      ...compatFacts(fields, model, tally),
      needs: conversationNeeds(fields, tools, tally),
      outputTokens:
        positiveInteger(fields.get('max_tokens')) ??
        positiveInteger(fields.get('max_completion_tokens')),
      usageInStream: usageAsked(fields),
      conversation: conversationOf('', messages),
      background: isBackgroundTask(messages),
    }
  },

  ending: (tail, streamed) => (streamed ? openaiStreamEnding(tail) : compatDocumentEnding(tail)),
}
