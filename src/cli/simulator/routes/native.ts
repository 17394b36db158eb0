// /api/chat and /api/generate.

import { bind, listOf, numberOf, objectOf, textOf } from '../bind.ts'
import { CHAT_REQUEST, GENERATE_REQUEST, type Decoded, type Think } from '../decode.ts'
import { SimError } from '../errors.ts'
import { nativeError, nativeForm } from '../form-native.ts'
import { infer } from '../infer.ts'
import { blankJob, type Job } from '../job.ts'
import type { Exchange } from '../sim.ts'

export async function chatRoute(exchange: Exchange): Promise<void> {
  await serve(exchange, () => chatJob(bind(exchange, CHAT_REQUEST, 'api.ChatRequest')))
}

export async function generateRoute(exchange: Exchange): Promise<void> {
  await serve(exchange, () => generateJob(bind(exchange, GENERATE_REQUEST, 'api.GenerateRequest')))
}

async function serve(exchange: Exchange, read: () => Job): Promise<void> {
  let job: Job
  try {
    job = read()
  } catch (error) {
    await refuse(exchange, error)
    return
  }
  await infer(exchange, job, nativeForm(exchange.sim, job))
}

/** A native handler's error: JSON with a charset and without a newline. */
export async function refuse({ reply }: Exchange, error: unknown): Promise<void> {
  if (!(error instanceof SimError)) throw error
  const { contentType, body } = nativeError(error)
  await reply.send(error.status, { 'Content-Type': contentType }, body)
}

function common(request: Decoded): Job {
  const topLogprobs = numberOf(request['top_logprobs']) ?? 0
  if (topLogprobs < 0 || topLogprobs > 20) {
    throw new SimError(400, 'top_logprobs must be between 0 and 20')
  }
  return {
    ...blankJob,
    model: textOf(request['model']),
    stream: request['stream'] !== false,
    format: request['format'],
    keepAliveMs: numberOf(request['keep_alive']),
    options: objectOf(request['options']),
    // The decoder lets nothing else through.
    think: request['think'] as Think | undefined,
    truncate: request['truncate'] !== false,
    shift: request['shift'] !== false,
    logprobs: request['logprobs'] === true,
    topLogprobs,
    debugRender: request['_debug_render_only'] === true,
  }
}

function chatJob(request: Decoded): Job {
  const messages = listOf(request['messages']).map(objectOf)
  return {
    ...common(request),
    messages: messages.map((message) => ({
      role: textOf(message['role']).toLowerCase(),
      content: textOf(message['content']),
    })),
    images: messages.reduce((sum, message) => sum + listOf(message['images']).length, 0),
    tools: listOf(request['tools']),
    empty: messages.length === 0,
  }
}

function generateJob(request: Decoded): Job {
  const prompt = textOf(request['prompt'])
  return {
    ...common(request),
    kind: 'generate',
    messages: [{ role: 'user', content: prompt }],
    images: listOf(request['images']).length,
    system: textOf(request['system']),
    suffix: textOf(request['suffix']),
    raw: request['raw'] === true,
    rawConflict:
      textOf(request['template']) !== '' ||
      textOf(request['system']) !== '' ||
      listOf(request['context']).length > 0,
    empty: prompt === '',
  }
}
