// OpenAI's chat and completions as Ollama writes them.

import { goJson } from './go-json.ts'
import { nativeError } from './form-native.ts'
import type { Body, Form, Job, Part, Result, SimErrorLike, ToolCall } from './job.ts'
import { JSON_UTF8, unixSeconds, type Sim } from './sim.ts'

const DONE = 'data: [DONE]\n\n'
const SSE = 'text/event-stream'

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  404: 'not_found_error',
}

/** Rejected by the middleware itself: with a charset and without a newline. */
export function openaiError(error: SimErrorLike): Body {
  if (error.nativeShape) return nativeError(error)
  const type = ERROR_TYPES[error.status] ?? 'api_error'
  const body = goJson({ error: { message: error.message, type, param: null, code: null } })
  return error.from === 'binding'
    ? { contentType: JSON_UTF8, body }
    : { contentType: 'application/json', body: `${body}\n` }
}

export interface StreamUsage {
  /** `stream_options.include_usage` */
  includeUsage: boolean
}

const event = (value: unknown): string => `data: ${goJson(value)}\n\n`

function usageOf(result: Result): Record<string, number> {
  return {
    prompt_tokens: result.promptTokens,
    completion_tokens: result.evalTokens,
    total_tokens: result.promptTokens + result.evalTokens,
  }
}

const wireCall = (call: ToolCall, index: number): Record<string, unknown> => ({
  id: call.id,
  index,
  type: 'function',
  function: { name: call.name, arguments: goJson(call.arguments) },
})

const delta = (part: Part, role: boolean): Record<string, unknown> => ({
  role: role ? 'assistant' : undefined,
  content: part.toolCalls.length > 0 && !role ? undefined : part.content,
  reasoning: part.thinking === '' ? undefined : part.thinking,
  tool_calls: part.toolCalls.length === 0 ? undefined : part.toolCalls.map(wireCall),
})

/** The finish reason of a chat that called a tool is its own. */
const finishOf = (result: Result): string =>
  result.toolCalls.length > 0 && result.doneReason === 'stop' ? 'tool_calls' : result.doneReason

export function openaiChatForm(sim: Sim, job: Job, { includeUsage }: StreamUsage): Form {
  const id = `chatcmpl-${sim.random.int(999)}`
  const created = unixSeconds(sim)
  const modern = sim.features.newChatStream
  const head = (model: string) => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    system_fingerprint: 'fp_ollama',
  })
  const choice = (
    content: Record<string, unknown>,
    finish: string | null,
    model = job.model,
  ): string =>
    event({ ...head(model), choices: [{ index: 0, delta: content, finish_reason: finish }] })
  let first = true
  const role = (): boolean => {
    const said = !first
    first = false
    return !modern || !said
  }

  return {
    fail: openaiError,
    single: (result) => ({
      contentType: 'application/json',
      body: `${goJson({
        ...head(job.model),
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: { ...delta(result, true), tool_calls: callsOf(result) },
            finish_reason: finishOf(result),
          },
        ],
        usage: usageOf(result),
      })}\n`,
    }),
    stream: {
      contentType: SSE,
      headers: {},
      part: (part) => [choice(delta(part, role()), null)],
      final(result) {
        const usage = event({ ...head(job.model), choices: [], usage: usageOf(result) })
        const last = choice(modern ? {} : { role: 'assistant', content: '' }, finishOf(result))
        return [`${last}${includeUsage ? usage : ''}${DONE}`]
      },
      // The error's text is lost: its object is read as an empty answer of no model.
      broken: () => choice({ role: modern ? undefined : 'assistant', content: '' }, null, ''),
    },
  }
}

const callsOf = (result: Result): unknown =>
  result.toolCalls.length === 0 ? undefined : result.toolCalls.map(wireCall)

export function openaiCompletionForm(sim: Sim, job: Job, { includeUsage }: StreamUsage): Form {
  const id = `cmpl-${sim.random.int(999)}`
  const created = unixSeconds(sim)
  const tail = (model: string) => ({ model, system_fingerprint: 'fp_ollama' })
  const zero = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  const chunk = (text: string, finish: string | null, model = job.model): string =>
    event({
      id,
      object: 'text_completion',
      created,
      choices: [{ text, index: 0, finish_reason: finish }],
      ...tail(model),
      usage: includeUsage ? zero : undefined,
    })

  return {
    fail: openaiError,
    single: (result) => ({
      contentType: 'application/json',
      body: `${goJson({
        id,
        object: 'text_completion',
        created,
        ...tail(job.model),
        choices: [{ text: result.content, index: 0, finish_reason: result.doneReason }],
        usage: usageOf(result),
      })}\n`,
    }),
    stream: {
      contentType: SSE,
      headers: {},
      part: (part) => [chunk(part.content, null)],
      final(result) {
        const usage = event({
          id,
          object: 'text_completion',
          created,
          choices: [],
          ...tail(job.model),
          usage: usageOf(result),
        })
        return [`${chunk('', result.doneReason)}${includeUsage ? usage : ''}${DONE}`]
      },
      broken: () => chunk('', null, ''),
    },
  }
}
