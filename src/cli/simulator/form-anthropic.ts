// Anthropic's messages as Ollama writes them: typed events, each in a chunk of
// its own.

import { goJson } from './go-json.ts'
import { nativeError } from './form-native.ts'
import type { Body, Form, Job, Part, Result, SimErrorLike, ToolCall } from './job.ts'
import { JSON_UTF8, type Sim } from './sim.ts'

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  529: 'overloaded_error',
}

export const anthropicError =
  (sim: Sim) =>
  (error: SimErrorLike): Body => {
    if (error.nativeShape) return nativeError(error)
    const body = goJson({
      type: 'error',
      error: { type: ERROR_TYPES[error.status] ?? 'api_error', message: error.message },
      request_id: `req_${sim.random.hex(24)}`,
    })
    return error.from === 'binding'
      ? { contentType: JSON_UTF8, body }
      : { contentType: 'application/json', body: `${body}\n` }
  }

const event = (value: { type: string } & Record<string, unknown>): string =>
  `event: ${value.type}\ndata: ${goJson(value)}\n\n`

function stopReason(result: Result): string {
  if (result.toolCalls.length > 0) return 'tool_use'
  if (result.doneReason === 'stop') return 'end_turn'
  return result.doneReason === 'length' ? 'max_tokens' : 'stop_sequence'
}

export function anthropicForm(sim: Sim, job: Job, estimatedTokens: number): Form {
  const id = `msg_${sim.random.hex(24)}`
  const message = { id, type: 'message', role: 'assistant', model: job.model }
  const blocks = blockWriter()
  let started = false
  const start = (): string[] => {
    if (started) return []
    started = true
    const usage = { input_tokens: estimatedTokens, output_tokens: 0 }
    return [event({ type: 'message_start', message: { ...message, content: [], usage } })]
  }

  return {
    fail: anthropicError(sim),
    single: (result) => ({
      contentType: 'application/json',
      body: `${goJson({
        ...message,
        content: contentOf(result),
        stop_reason: stopReason(result),
        usage: { input_tokens: result.promptTokens, output_tokens: result.evalTokens },
      })}\n`,
    }),
    stream: {
      contentType: 'text/event-stream',
      headers: { 'Cache-Control': 'no-cache', Connection: 'keep-alive' },
      part: (part) => [...start(), ...blocks.part(part)],
      final: (result) => [
        ...start(),
        ...blocks.close(),
        event({
          type: 'message_delta',
          delta: { stop_reason: stopReason(result) },
          usage: { input_tokens: result.promptTokens, output_tokens: result.evalTokens },
        }),
        event({ type: 'message_stop' }),
      ],
      broken: () => undefined,
    },
  }
}

/** Go's nil slice: an answer without content is null. */
function contentOf(result: Result): unknown {
  const content = [
    ...(result.thinking === '' ? [] : [{ type: 'thinking', thinking: result.thinking }]),
    ...(result.content === '' ? [] : [{ type: 'text', text: result.content }]),
    ...result.toolCalls.map((call) => ({
      type: 'tool_use',
      id: call.id,
      name: call.name,
      input: call.arguments,
    })),
  ]
  return content.length === 0 ? null : content
}

/** Opens and closes content blocks as the kind of what is said changes. */
function blockWriter() {
  let index = -1
  let open: 'thinking' | 'text' | undefined
  const close = (): string[] => {
    if (open === undefined) return []
    open = undefined
    return [event({ type: 'content_block_stop', index })]
  }
  const say = (kind: 'thinking' | 'text', text: string): string[] => {
    const events: string[] = []
    if (open !== kind) {
      events.push(...close())
      index += 1
      open = kind
      events.push(
        event({ type: 'content_block_start', index, content_block: { type: kind, [kind]: '' } }),
      )
    }
    events.push(
      event({ type: 'content_block_delta', index, delta: { type: `${kind}_delta`, [kind]: text } }),
    )
    return events
  }
  const call = (tool: ToolCall): string[] => {
    const events = close()
    index += 1
    return [
      ...events,
      event({
        type: 'content_block_start',
        index,
        content_block: { type: 'tool_use', id: tool.id, name: tool.name, input: {} },
      }),
      event({
        type: 'content_block_delta',
        index,
        delta: { type: 'input_json_delta', partial_json: goJson(tool.arguments) },
      }),
      event({ type: 'content_block_stop', index }),
    ]
  }
  return {
    close,
    part: (part: Part): string[] => [
      ...(part.thinking === '' ? [] : say('thinking', part.thinking)),
      ...(part.content === '' ? [] : say('text', part.content)),
      ...part.toolCalls.flatMap(call),
    ],
  }
}
