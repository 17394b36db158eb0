// OpenAI's Responses as Ollama writes them. Streamed events are Go maps, so their
// keys are sorted; the whole answer is a struct and has an order of its own.

import { openaiError } from './form-openai.ts'
import { goJson, sortKeys } from './go-json.ts'
import type { Form, Job, Part, Result, ToolCall } from './job.ts'
import { unixSeconds, type Sim } from './sim.ts'

/** What a response repeats from its request. */
export interface ResponseEcho {
  instructions: string | null
  maxOutputTokens: number | null
  temperature: number
  topP: number
  reasoning: Record<string, unknown> | null
  textFormat: Record<string, unknown>
  tools: readonly unknown[]
  truncation: string
  background: boolean
}

type Item = Record<string, unknown>

export function responsesForm(sim: Sim, job: Job, echo: ResponseEcho): Form {
  const id = `resp_${sim.random.int(999_999)}`
  const createdAt = unixSeconds(sim)
  const whole = (status: string, output: readonly Item[] | null, usage: unknown) =>
    responseOf({ id, job, echo, createdAt, sim }, { status, output, usage })
  const events = eventWriter(sim, whole)

  return {
    fail: openaiError,
    single: (result) => ({
      contentType: 'application/json',
      body: `${goJson(whole('completed', itemsOf(sim, result), usageOf(result)))}\n`,
    }),
    stream: {
      contentType: 'text/event-stream',
      headers: { 'Cache-Control': 'no-cache', Connection: 'keep-alive' },
      part: (part) => events.part(part),
      final: (result) => events.final(result),
      broken: () => undefined,
    },
  }
}

function responseOf(
  made: { id: string; job: Job; echo: ResponseEcho; createdAt: number; sim: Sim },
  state: { status: string; output: readonly Item[] | null; usage: unknown },
): Record<string, unknown> {
  const { id, job, echo, createdAt, sim } = made
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: state.status === 'completed' ? unixSeconds(sim) : null,
    status: state.status,
    incomplete_details: null,
    model: job.model,
    previous_response_id: null,
    instructions: echo.instructions,
    output: state.output,
    error: null,
    tools: echo.tools,
    tool_choice: 'auto',
    truncation: echo.truncation,
    parallel_tool_calls: true,
    text: { format: echo.textFormat },
    top_p: echo.topP,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    temperature: echo.temperature,
    reasoning: echo.reasoning,
    usage: state.usage,
    max_output_tokens: echo.maxOutputTokens,
    max_tool_calls: null,
    store: false,
    background: echo.background,
    service_tier: 'default',
    metadata: {},
    safety_identifier: null,
    prompt_cache_key: null,
  }
}

const usageOf = (result: Result): Record<string, unknown> => ({
  input_tokens: result.promptTokens,
  output_tokens: result.evalTokens,
  total_tokens: result.promptTokens + result.evalTokens,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
})

const textPart = (text: string): Item => ({
  type: 'output_text',
  text,
  annotations: [],
  logprobs: [],
})

const messageItem = (id: string, status: string, content: readonly Item[]): Item => ({
  id,
  type: 'message',
  status,
  role: 'assistant',
  content,
})

const reasoningItem = (id: string, text: string): Item => ({
  id,
  type: 'reasoning',
  summary: [{ type: 'summary_text', text }],
  encrypted_content: text,
})

const callItem = (id: string, call: ToolCall, status: string): Item => ({
  id,
  type: 'function_call',
  status,
  call_id: call.id,
  name: call.name,
  arguments: status === 'completed' ? goJson(call.arguments) : '',
})

const newId = (sim: Sim, prefix: string): string => `${prefix}_${sim.random.int(999_999)}`

function itemsOf(sim: Sim, result: Result): Item[] {
  const items: Item[] = []
  if (result.thinking !== '') items.push(reasoningItem(newId(sim, 'rs'), result.thinking))
  for (const call of result.toolCalls) items.push(callItem(newId(sim, 'fc'), call, 'completed'))
  if (result.toolCalls.length === 0 || result.content !== '') {
    items.push(messageItem(newId(sim, 'msg'), 'completed', [textPart(result.content)]))
  }
  return items
}

interface OpenItem {
  kind: 'reasoning' | 'message'
  id: string
  text: string
}

function eventWriter(
  sim: Sim,
  whole: (status: string, output: readonly Item[] | null, usage: unknown) => unknown,
) {
  let sequence = 0
  let started = false
  let open: OpenItem | undefined
  const done: Item[] = []

  const event = (type: string, fields: Record<string, unknown>): string => {
    const data = sortKeys({ ...fields, type, sequence_number: sequence })
    sequence += 1
    return `event: ${type}\ndata: ${goJson(data)}\n\n`
  }
  const start = (): string[] => {
    if (started) return []
    started = true
    return ['response.created', 'response.in_progress'].map((type) =>
      event(type, { response: whole('in_progress', [], null) }),
    )
  }
  const writer = itemWriter(event, done)
  const close = (): string[] => {
    const closing = open
    open = undefined
    return closing === undefined ? [] : writer.close(closing)
  }
  const say = (kind: OpenItem['kind'], text: string): string[] => {
    const events: string[] = []
    if (open?.kind !== kind) {
      events.push(...close())
      open = { kind, id: newId(sim, kind === 'reasoning' ? 'rs' : 'msg'), text: '' }
      events.push(...writer.open(open))
    }
    open.text += text
    events.push(writer.delta(open, text))
    return events
  }
  return {
    part: (part: Part): string[] => [
      ...start(),
      ...(part.thinking === '' ? [] : say('reasoning', part.thinking)),
      ...(part.content === '' ? [] : say('message', part.content)),
      ...(part.toolCalls.length === 0 ? [] : close()),
      ...part.toolCalls.flatMap((call) => writer.call(newId(sim, 'fc'), call)),
    ],
    final(result: Result): string[] {
      const events = [...start(), ...close()]
      const output = done.length === 0 ? null : done
      events.push(
        event('response.completed', { response: whole('completed', output, usageOf(result)) }),
      )
      return events
    },
  }
}

/** The events around one output item. */
function itemWriter(event: EventOf, done: Item[]) {
  const finish = (finished: Item): string => {
    const written = event('response.output_item.done', {
      output_index: done.length,
      item: finished,
    })
    done.push(finished)
    return written
  }
  return {
    open: (item: OpenItem): string[] => openEvents(event, item, done.length),
    delta(item: OpenItem, delta: string): string {
      const at = { item_id: item.id, output_index: done.length, delta }
      return item.kind === 'reasoning'
        ? event('response.reasoning_summary_text.delta', { ...at, summary_index: 0 })
        : event('response.output_text.delta', { ...at, content_index: 0, logprobs: [] })
    },
    close(item: OpenItem): string[] {
      const at = { item_id: item.id, output_index: done.length }
      const { text } = item
      if (item.kind === 'reasoning') {
        return [
          event('response.reasoning_summary_text.done', { ...at, summary_index: 0, text }),
          finish(reasoningItem(item.id, text)),
        ]
      }
      const part = textPart(text)
      return [
        event('response.output_text.done', { ...at, content_index: 0, text, logprobs: [] }),
        event('response.content_part.done', { ...at, content_index: 0, part }),
        finish(messageItem(item.id, 'completed', [part])),
      ]
    },
    call(id: string, call: ToolCall): string[] {
      const at = { item_id: id, output_index: done.length }
      const words = goJson(call.arguments)
      const added = callItem(id, call, 'in_progress')
      return [
        event('response.output_item.added', { output_index: done.length, item: added }),
        event('response.function_call_arguments.delta', { ...at, delta: words }),
        event('response.function_call_arguments.done', { ...at, arguments: words }),
        finish(callItem(id, call, 'completed')),
      ]
    },
  }
}

type EventOf = (type: string, fields: Record<string, unknown>) => string

function openEvents(event: EventOf, item: OpenItem, output_index: number): string[] {
  if (item.kind === 'reasoning') {
    const added = { id: item.id, type: 'reasoning', summary: [] }
    return [event('response.output_item.added', { output_index, item: added })]
  }
  const at = { item_id: item.id, output_index }
  return [
    event('response.output_item.added', {
      output_index,
      item: messageItem(item.id, 'in_progress', []),
    }),
    event('response.content_part.added', { ...at, content_index: 0, part: textPart('') }),
  ]
}
