// OpenAI's /v1/responses, which Codex speaks. Its stream has named, numbered events and no [DONE].

import { conversationOf, isBackgroundTask } from './conversation.ts'
import { emptyTally, tallyContent, tallyMessage, tallyTools, type Tally } from './content.ts'
import type { Dialect, Ending, Usage } from './dialect.ts'
import { compatUsage, complete, errorText, failed, incomplete, NO_USAGE } from './ending.ts'
import { SSE_HEARTBEAT } from './frames.ts'
import {
  field,
  foldKeys,
  isRecord,
  list,
  positiveInteger,
  record,
  text,
  type JsonRecord,
} from './json-fields.ts'
import { parseObject, readJsonTail } from './json-tail.ts'
import { compatFacts, conversationNeeds } from './openai-facts.ts'
import { compatDocumentEnding } from './openai-ending.ts'
import { requestModel } from './request-model.ts'
import { responsesErrors } from './responses-errors.ts'
import { readSseTail } from './sse-tail.ts'

export const openaiResponses: Dialect = {
  name: 'openai-responses',
  errors: responsesErrors,
  framing: 'sse',
  heartbeat: SSE_HEARTBEAT,

  read(body, path) {
    const fields = foldKeys(body)
    const model = requestModel(fields, path)
    const instructions = text(fields.get('instructions'))
    const input = fields.get('input')
    const items = typeof input === 'string' ? [input] : list(input)
    const tools = list(fields.get('tools'))
    const tally = emptyTally()
    tally.chars += instructions.length
    for (const item of items) tallyItem(tally, item)
    tallyTools(tally, tools)
    return {
      ...compatFacts(fields, model, tally),
      needs: conversationNeeds(fields, tools, tally),
      outputTokens: positiveInteger(fields.get('max_output_tokens')),
      usageInStream: true,
      conversation: conversationOf(instructions, items),
      background: isBackgroundTask(items),
    }
  },

  ending: (tail, streamed) => (streamed ? streamEnding(tail) : compatDocumentEnding(tail)),
}

function tallyItem(tally: Tally, item: unknown): void {
  if (!isRecord(item)) {
    tallyMessage(tally, item)
    return
  }
  switch (text(field(item, 'type'))) {
    case 'function_call':
      tally.chars += text(field(item, 'name')).length + text(field(item, 'arguments')).length
      return
    case 'function_call_output':
      tallyContent(tally, field(item, 'output'))
      return
    case 'reasoning':
      tally.chars += text(field(item, 'encrypted_content')).length
      return
    case 'web_search_call':
      return
    default:
      tallyMessage(tally, item)
  }
}

/** Events after which the worker says no more; `incomplete` is a whole answer cut by its bound. */
const TERMINATORS = new Set(['response.completed', 'response.incomplete'])

function streamEnding(tail: Buffer): Ending {
  const { events, fragment } = readSseTail(tail)
  for (const { data } of events.toReversed()) {
    const ending = endingOf(parseObject(data) ?? {}, {})
    if (ending !== undefined) return ending
  }
  // The last event repeats the whole answer, so it may begin before the tail does.
  const end = readJsonTail(Buffer.from(fragment))
  return (end && endingOf(end.object, end.inner)) ?? incomplete()
}

/** undefined for an event that ends nothing. `inner` stands in for a response whose start is cut. */
function endingOf(event: JsonRecord, inner: JsonRecord): Ending | undefined {
  const type = text(event['type'])
  const response = record(event['response']) ?? inner
  if (TERMINATORS.has(type)) return complete(usageOf(response) ?? NO_USAGE)
  if (type === 'response.failed') {
    return failed(
      errorText(response['error']) ?? 'the worker failed the response',
      usageOf(response),
    )
  }
  if (type === 'error') return failed(errorText(event['error'] ?? event['message']) ?? 'error')
  const bare = type === '' ? errorText(event['error']) : undefined
  return bare === undefined ? undefined : failed(bare)
}

function usageOf(response: JsonRecord): Usage | undefined {
  return compatUsage(response['usage'])
}
