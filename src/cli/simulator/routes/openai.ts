// /v1/chat/completions and /v1/completions: translated to chat and generate.

import { bind, bindingError, listOf, numberOf, objectOf, textOf } from '../bind.ts'
import type { Decoded, Struct, Think } from '../decode.ts'
import { SimError } from '../errors.ts'
import { openaiChatForm, openaiCompletionForm, openaiError } from '../form-openai.ts'
import { infer } from '../infer.ts'
import { blankJob, type Job } from '../job.ts'
import { compareVersions } from '../versions.ts'
import type { Exchange, Sim } from '../sim.ts'

const SHARED: Struct = {
  model: 'string',
  stream: 'bool',
  stream_options: 'any',
  max_tokens: 'int',
  seed: 'int',
  stop: 'any',
  temperature: 'float64',
  top_p: 'float64',
  frequency_penalty: 'float64',
  presence_penalty: 'float64',
}

const CHAT: Struct = {
  ...SHARED,
  messages: { list: 'any', go: '[]openai.Message' },
  response_format: 'any',
  tools: { list: 'any', go: '[]api.Tool' },
  reasoning: 'any',
  reasoning_effort: 'string',
  logprobs: 'bool',
  top_logprobs: 'int',
  _debug_render_only: 'bool',
}

const COMPLETION: Struct = { ...SHARED, prompt: 'string', suffix: 'string', logprobs: 'int' }

export async function openaiChatRoute(exchange: Exchange): Promise<void> {
  await serve(exchange, () => {
    const request = bind(exchange, CHAT, 'openai.ChatCompletionRequest')
    const job = chatJob(exchange.sim, request)
    return { job, form: openaiChatForm(exchange.sim, job, usage(request)) }
  })
}

export async function openaiCompletionRoute(exchange: Exchange): Promise<void> {
  await serve(exchange, () => {
    const request = bind(exchange, COMPLETION, 'openai.CompletionRequest')
    const prompt = textOf(request['prompt'])
    const job: Job = {
      ...common(request),
      kind: 'generate',
      messages: [{ role: 'user', content: prompt }],
      suffix: textOf(request['suffix']),
      empty: prompt === '',
    }
    return { job, form: openaiCompletionForm(exchange.sim, job, usage(request)) }
  })
}

async function serve(
  exchange: Exchange,
  read: () => { job: Job; form: Parameters<typeof infer>[2] },
): Promise<void> {
  let made: ReturnType<typeof read>
  try {
    made = read()
  } catch (error) {
    if (!(error instanceof SimError)) throw error
    const { contentType, body } = openaiError(error)
    await exchange.reply.send(error.status, { 'Content-Type': contentType }, body)
    return
  }
  await infer(exchange, made.job, made.form)
}

const usage = (request: Decoded) => ({
  includeUsage: objectOf(request['stream_options'])['include_usage'] === true,
})

function common(request: Decoded): Job {
  return {
    ...blankJob,
    model: textOf(request['model']),
    stream: request['stream'] === true,
    options: { num_predict: numberOf(request['max_tokens']) ?? null },
  }
}

function chatJob(sim: Sim, request: Decoded): Job {
  const messages = listOf(request['messages']).map(objectOf)
  if (messages.length === 0) throw bindingError("[] is too short - 'messages'")
  const read = messages.flatMap(readMessage)
  const format = objectOf(request['response_format'])
  const schema = objectOf(format['json_schema'])['schema']
  return {
    ...common(request),
    messages: read.map(({ role, content }) => ({ role, content })),
    images: read.filter(({ image }) => image).length,
    tools: listOf(request['tools']),
    think: effortOf(sim, request),
    format: format['type'] === 'json_object' ? 'json' : schema,
    logprobs: request['logprobs'] === true,
    topLogprobs: numberOf(request['top_logprobs']) ?? 0,
  }
}

interface ReadMessage {
  role: string
  content: string
  image: boolean
}

function readMessage(message: Readonly<Record<string, unknown>>): ReadMessage[] {
  const role = textOf(message['role'])
  const { content } = message
  if (typeof content === 'string') return [{ role, content, image: false }]
  if (Array.isArray(content)) return content.map((part) => readPart(role, objectOf(part)))
  if (listOf(message['tool_calls']).length > 0) return [{ role, content: '', image: false }]
  const shown = content === undefined || content === null ? '<nil>' : typeof content
  throw bindingError(`invalid message content type: ${shown}`)
}

function readPart(role: string, part: Readonly<Record<string, unknown>>): ReadMessage {
  switch (part['type']) {
    case 'text':
      return { role, content: textOf(part['text']), image: false }
    case 'image_url':
      checkImage(textOf(objectOf(part['image_url'])['url']) || textOf(part['image_url']))
      return { role, content: '', image: true }
    case 'input_audio':
      return { role, content: '', image: true }
    default:
      throw bindingError('invalid message format')
  }
}

/** Only images that come with the request; a worker fetches none. */
export function checkImage(url: string): void {
  if (/^https?:/iu.test(url)) {
    throw bindingError(
      'image URLs are not currently supported, please use base64 encoded data instead',
    )
  }
  if (!/^data:(?:image\/(?:jpe?g|png|webp))?;base64,/u.test(url))
    throw bindingError('invalid image input')
}

function effortOf(sim: Sim, request: Decoded): Think | undefined {
  const effort =
    textOf(request['reasoning_effort']) || textOf(objectOf(request['reasoning'])['effort'])
  return effort === '' ? undefined : thinkOf(sim, effort)
}

const NEW_EFFORTS: Readonly<Record<string, Think>> = { minimal: 'low', xhigh: 'max', ultra: 'max' }

/** A reasoning effort as the native `think`. */
export function thinkOf(sim: Sim, effort: string): Think {
  if (effort === 'none') return false
  if (['low', 'medium', 'high', 'max'].includes(effort)) return effort
  const mapped =
    compareVersions(sim.settings.version, '0.32.11') >= 0 ? NEW_EFFORTS[effort] : undefined
  if (mapped !== undefined) return mapped
  throw bindingError(
    `invalid reasoning value: '${effort}' (must be "high", "medium", "low", "max", or "none")`,
  )
}
