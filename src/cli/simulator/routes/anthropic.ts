// /v1/messages: translated to chat.

import { bind, bindingError, listOf, numberOf, objectOf, textOf } from '../bind.ts'
import type { Decoded, Struct, Think } from '../decode.ts'
import { SimError } from '../errors.ts'
import { anthropicError, anthropicForm } from '../form-anthropic.ts'
import { infer } from '../infer.ts'
import { blankJob, type Job } from '../job.ts'
import type { Exchange } from '../sim.ts'

const REQUEST: Struct = {
  model: 'string',
  max_tokens: 'int',
  messages: { list: 'any', go: '[]anthropic.MessageParam' },
  system: 'any',
  stream: 'bool',
  temperature: 'float64',
  top_p: 'float64',
  top_k: 'int',
  stop_sequences: { list: 'string', go: '[]string' },
  tools: { list: 'any', go: '[]anthropic.Tool' },
  thinking: 'any',
  output_config: 'any',
}

/** Ollama's guess at a prompt's tokens, sent before it has counted. */
const ESTIMATED_CHARS_PER_TOKEN = 4

export async function messagesRoute(exchange: Exchange): Promise<void> {
  let job: Job
  try {
    job = jobOf(bind(exchange, REQUEST, 'anthropic.MessagesRequest'))
  } catch (error) {
    if (!(error instanceof SimError)) throw error
    const { contentType, body } = anthropicError(exchange.sim)(error)
    await exchange.reply.send(error.status, { 'Content-Type': contentType }, body)
    return
  }
  const letters = job.messages.reduce((sum, { content }) => sum + content.length, 0)
  const estimate = Math.ceil(letters / ESTIMATED_CHARS_PER_TOKEN)
  await infer(exchange, job, anthropicForm(exchange.sim, job, estimate))
}

function jobOf(request: Decoded): Job {
  const model = textOf(request['model'])
  const maxTokens = numberOf(request['max_tokens']) ?? 0
  const given = listOf(request['messages']).map(objectOf)
  if (model === '') throw bindingError('model is required')
  if (maxTokens <= 0) throw bindingError('max_tokens is required and must be positive')
  if (given.length === 0) throw bindingError('messages is required')
  const counter = { images: 0 }
  const messages = given.map((message) => ({
    role: textOf(message['role']),
    content: contentOf(counter, message['content']),
  }))
  const system = contentOf(counter, request['system'])
  return {
    ...blankJob,
    model,
    stream: request['stream'] === true,
    messages: system === '' ? messages : [{ role: 'system', content: system }, ...messages],
    images: counter.images,
    tools: listOf(request['tools']).map(objectOf).map(toolOf),
    think: thinkOf(request),
    thinkRelaxed: true,
    options: { num_predict: maxTokens },
  }
}

const toolOf = (tool: Readonly<Record<string, unknown>>) => ({
  type: 'function',
  function: {
    name: tool['name'],
    description: tool['description'],
    parameters: tool['input_schema'],
  },
})

/** Blocks of unknown types, documents among them, are dropped without a word. */
function contentOf(counter: { images: number }, content: unknown): string {
  if (typeof content === 'string') return content
  const texts: string[] = []
  for (const block of listOf(content).map(objectOf)) {
    if (block['type'] === 'text') texts.push(textOf(block['text']))
    if (block['type'] === 'tool_result') texts.push(contentOf(counter, block['content']))
    if (block['type'] === 'image') {
      const kind = textOf(objectOf(block['source'])['type'])
      if (kind !== 'base64') {
        throw bindingError(`invalid image source type: ${kind}. Only base64 images are supported.`)
      }
      counter.images += 1
    }
  }
  return texts.join('')
}

function thinkOf(request: Decoded): Think | undefined {
  const effort = textOf(objectOf(request['output_config'])['effort'])
  if (effort !== '') return effort === 'xhigh' ? 'high' : effort
  const type = textOf(objectOf(request['thinking'])['type'])
  if (type === 'enabled') return true
  return type === 'disabled' ? false : undefined
}
