// Anthropic's /v1/messages, which Claude Code speaks.

import { conversationOf, isBackgroundTask, messagesOf } from './conversation.ts'
import { emptyTally, tallyContent, tallyMessage, tallyTools, textOfContent } from './content.ts'
import type { Dialect, Ending, Need, Usage } from './dialect.ts'
import { anthropicErrors } from './anthropic-errors.ts'
import { compatUsage, complete, errorText, failed, incomplete, NO_USAGE } from './ending.ts'
import { SSE_HEARTBEAT } from './frames.ts'
import {
  field,
  foldKeys,
  list,
  positiveInteger,
  record,
  text,
  type Fields,
  type JsonRecord,
} from './json-fields.ts'
import { parseObject } from './json-tail.ts'
import { compatFacts } from './openai-facts.ts'
import { compatDocumentEnding } from './openai-ending.ts'
import { requestModel } from './request-model.ts'
import { readSseTail } from './sse-tail.ts'

export const anthropic: Dialect = {
  name: 'anthropic',
  errors: anthropicErrors,
  framing: 'sse',
  heartbeat: SSE_HEARTBEAT,

  read(body, path) {
    const fields = foldKeys(body)
    const model = requestModel(fields, path)
    const messages = messagesOf(fields)
    const tools = list(fields.get('tools'))
    const tally = emptyTally()
    tallyContent(tally, fields.get('system'))
    for (const message of messages) tallyMessage(tally, message)
    tallyTools(tally, tools)

    const needs: Need[] = ['completion']
    if (tools.length > 0) needs.push('tools')
    if (tally.images > 0) needs.push('vision')
    return {
      ...compatFacts(fields, model, tally),
      needs,
      softNeeds: thinkingAsked(fields) ? ['thinking'] : [],
      outputTokens: positiveInteger(fields.get('max_tokens')),
      usageInStream: true,
      conversation: conversationOf(textOfContent(fields.get('system')), messages),
      background: isBackgroundTask(messages),
    }
  },

  ending: (tail, streamed) => (streamed ? streamEnding(tail) : compatDocumentEnding(tail)),
}

/** Ollama drops it without a word on a model that cannot think. */
function thinkingAsked(fields: Fields): boolean {
  const type = text(field(record(fields.get('thinking')) ?? {}, 'type'))
  if (type === 'disabled') return false
  const effort = field(record(fields.get('output_config')) ?? {}, 'effort')
  return type === 'enabled' || text(effort) !== ''
}

/** Nearly all events are deltas of content, in which a quote is escaped: they are not parsed. */
const MATTERS = /"(message_delta|message_stop|error)"/

function streamEnding(tail: Buffer): Ending {
  const events = readSseTail(tail)
    .events.filter(({ data }) => MATTERS.test(data))
    .map(({ data }) => parseObject(data) ?? {})
  const usage = lastUsage(events)
  const error = events.find((event) => event['type'] === 'error' || event['error'] !== undefined)
  if (error !== undefined) return failed(errorText(error['error']) ?? 'error', usage)
  const stopped = events.some((event) => event['type'] === 'message_stop')
  return stopped ? complete(usage) : incomplete(usage)
}

/** Of message_delta: message_start carries an estimate only. */
function lastUsage(events: readonly JsonRecord[]): Usage {
  const deltas = events.filter((event) => event['type'] === 'message_delta').map(usageOf)
  return deltas.findLast((usage) => usage !== undefined) ?? NO_USAGE
}

function usageOf(object: JsonRecord): Usage | undefined {
  return compatUsage(object['usage'])
}
