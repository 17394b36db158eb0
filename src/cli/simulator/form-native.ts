// The native dialect: one JSON object, or one per line.

import { goJson } from './go-json.ts'
import type { Body, Form, Job, Part, Result, SimErrorLike, ToolCall } from './job.ts'
import { JSON_UTF8, stamp, type Sim } from './sim.ts'

const NDJSON = 'application/x-ndjson'

export const nativeError = (error: Pick<SimErrorLike, 'message' | 'extra'>): Body => ({
  contentType: JSON_UTF8,
  body: goJson({ error: error.message, ...error.extra }),
})

export function nativeForm(sim: Sim, job: Job): Form {
  const body = (content: Record<string, unknown>, end: Record<string, unknown>): string =>
    goJson({ model: job.model, created_at: stamp(sim), ...content, ...end })
  const say = (part: Part): Record<string, unknown> =>
    job.kind === 'chat' ? { message: message(sim, part) } : spoken(part)

  return {
    fail: nativeError,
    single: (result) => ({
      contentType: JSON_UTF8,
      body: body(say(result), ending(result, result.logprobs)),
    }),
    control: (reason) => ({
      contentType: JSON_UTF8,
      body: body(say(EMPTY), { done: true, done_reason: reason }),
    }),
    debug: (rendered) => ({
      contentType: JSON_UTF8,
      body: body(say(EMPTY), { done: false, _debug_info: { rendered_template: rendered } }),
    }),
    stream: {
      contentType: NDJSON,
      headers: {},
      part: (part) => [`${body(say(part), { done: false, logprobs: part.logprobs })}\n`],
      final: (result) => [`${body(say(EMPTY), ending(result, undefined))}\n`],
      broken: (text) => `${goJson({ error: text })}\n`,
    },
  }
}

const EMPTY: Part = { content: '', thinking: '', toolCalls: [], logprobs: undefined }

function message(sim: Sim, part: Part): Record<string, unknown> {
  return {
    role: 'assistant',
    content: part.content,
    thinking: part.thinking === '' ? undefined : part.thinking,
    tool_calls: part.toolCalls.length === 0 ? undefined : part.toolCalls.map(wireCall(sim)),
  }
}

const wireCall =
  (sim: Sim) =>
  (call: ToolCall, index: number): Record<string, unknown> => ({
    id: sim.features.toolCallIds ? call.id : undefined,
    function: { index, name: call.name, arguments: call.arguments },
  })

const spoken = (part: Part): Record<string, unknown> => ({
  response: part.content,
  thinking: part.thinking === '' ? undefined : part.thinking,
})

/** Zero counters are left out, as Go's omitempty does. */
function ending(result: Result, logprobs: Result['logprobs']): Record<string, unknown> {
  const some = (count: number): number | undefined => (count === 0 ? undefined : count)
  const { times } = result
  return {
    done: true,
    done_reason: result.doneReason,
    logprobs,
    context: result.context,
    total_duration: some(times.total),
    load_duration: some(times.load),
    prompt_eval_count: some(result.promptTokens),
    prompt_eval_duration: some(times.promptEval),
    eval_count: some(result.evalTokens),
    eval_duration: some(times.eval),
  }
}
