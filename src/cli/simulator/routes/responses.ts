// /v1/responses: translated to chat.

import { bind, bindingError, listOf, numberOf, objectOf, textOf } from '../bind.ts'
import type { Decoded, Struct } from '../decode.ts'
import { SimError } from '../errors.ts'
import { openaiError } from '../form-openai.ts'
import { responsesForm, type ResponseEcho } from '../form-responses.ts'
import { infer } from '../infer.ts'
import { blankJob, type Job } from '../job.ts'
import type { Exchange, Sim } from '../sim.ts'
import { checkImage, thinkOf } from './openai.ts'

const REQUEST: Struct = {
  model: 'string',
  input: 'any',
  instructions: 'string',
  max_output_tokens: 'int',
  temperature: 'float64',
  top_p: 'float64',
  reasoning: 'any',
  text: 'any',
  tools: { list: 'any', go: '[]openai.ResponsesTool' },
  truncation: 'string',
  stream: 'bool',
  background: 'bool',
}

export async function responsesRoute(exchange: Exchange): Promise<void> {
  let request: Decoded
  let job: Job
  try {
    request = bind(exchange, REQUEST, 'openai.ResponsesRequest')
    job = jobOf(exchange.sim, request)
  } catch (error) {
    if (!(error instanceof SimError)) throw error
    const { contentType, body } = openaiError(error)
    await exchange.reply.send(error.status, { 'Content-Type': contentType }, body)
    return
  }
  await infer(exchange, job, responsesForm(exchange.sim, job, echoOf(request)))
}

function jobOf(sim: Sim, request: Decoded): Job {
  const reasoning = objectOf(request['reasoning'])
  const effort = textOf(reasoning['effort'])
  const instructions = textOf(request['instructions'])
  const { messages, images } = readInput(request['input'])
  const format = objectOf(objectOf(request['text'])['format'])
  return {
    ...blankJob,
    model: textOf(request['model']),
    stream: request['stream'] === true,
    messages:
      instructions === '' ? messages : [{ role: 'system', content: instructions }, ...messages],
    images,
    tools: listOf(request['tools']),
    think: effort === '' ? undefined : thinkOf(sim, effort),
    format: format['type'] === 'json_schema' ? format['schema'] : undefined,
    options: { num_predict: numberOf(request['max_output_tokens']) ?? null },
  }
}

interface ReadInput {
  messages: { role: string; content: string }[]
  images: number
}

function readInput(input: unknown): ReadInput {
  if (typeof input === 'string') return { messages: [{ role: 'user', content: input }], images: 0 }
  const read: ReadInput = { messages: [], images: 0 }
  for (const [index, item] of listOf(input).entries()) readItem(read, objectOf(item), index)
  return read
}

function readItem(read: ReadInput, item: Readonly<Record<string, unknown>>, index: number): void {
  const role = textOf(item['role'])
  const type = textOf(item['type']) || (role === '' ? '' : 'message')
  switch (type) {
    case 'message':
      read.messages.push({ role, content: contentOf(read, item['content']) })
      return
    case 'function_call_output':
      read.messages.push({ role: 'tool', content: contentOf(read, item['output']) })
      return
    case 'function_call':
    case 'reasoning':
    case 'web_search_call':
      return
    default:
      throw bindingError(`input[${index}]: unknown input item type: ${JSON.stringify(type)}`)
  }
}

function contentOf(read: ReadInput, content: unknown): string {
  if (typeof content === 'string') return content
  const texts: string[] = []
  for (const part of listOf(content).map(objectOf)) {
    if (part['type'] === 'input_file') throw bindingError('file inputs are not currently supported')
    if (part['type'] === 'input_image' && textOf(part['image_url']) !== '') {
      checkImage(textOf(part['image_url']))
      read.images += 1
    }
    texts.push(textOf(part['text']))
  }
  return texts.join('')
}

function echoOf(request: Decoded): ResponseEcho {
  const reasoning = objectOf(request['reasoning'])
  const format = objectOf(objectOf(request['text'])['format'])
  return {
    instructions: textOf(request['instructions']) || null,
    maxOutputTokens: numberOf(request['max_output_tokens']) ?? null,
    temperature: numberOf(request['temperature']) ?? 1,
    topP: numberOf(request['top_p']) ?? 1,
    reasoning:
      request['reasoning'] === undefined
        ? null
        : {
            effort: textOf(reasoning['effort']) || null,
            summary: textOf(reasoning['summary']) || null,
          },
    textFormat: Object.keys(format).length === 0 ? { type: 'text' } : format,
    tools: listOf(request['tools']),
    truncation: textOf(request['truncation']) || 'disabled',
    background: request['background'] === true,
  }
}
