// The official Anthropic SDK for Node, unmodified: it sends its key as Bearer, and its base URL is
// the gateway's root.

import assert from 'node:assert/strict'
import Anthropic from '@anthropic-ai/sdk'
import { rejectionOf } from '../support/rejection.ts'
import type { Rig } from '../support/rig.ts'
import {
  answerWithTool,
  clientSuite,
  cutStreams,
  MODEL,
  PLAIN,
  QUICK_OVERFLOW,
  seenLeaving,
  takeDown,
  WEATHER,
} from './bench-of-clients.ts'

const { feature } = clientSuite('anthropic')
const messages = [{ role: 'user' as const, content: 'hello' }]
const ask = { model: MODEL, max_tokens: 64, messages }

function clientOf(rig: Rig): Anthropic {
  return new Anthropic({ baseURL: rig.url, apiKey: 'ollama', maxRetries: 0 })
}

async function failure(promise: Promise<unknown>) {
  const error = await rejectionOf(promise)
  assert.ok(error instanceof Anthropic.APIError, `an APIError, not ${String(error)}`)
  return error
}

feature('messages', async (rig) => {
  const answer = await clientOf(rig).messages.create(ask)
  assert.equal(answer.stop_reason, 'end_turn')
  assert.ok(answer.usage.output_tokens > 0)
})

feature('stream helper', async (rig) => {
  const stream = clientOf(rig).messages.stream(ask)
  const types: string[] = []
  stream.on('streamEvent', ({ type }) => types.push(type))
  const message = await stream.finalMessage()
  assert.equal(types[0], 'message_start')
  assert.equal(types.at(-1), 'message_stop')
  assert.equal(message.stop_reason, 'end_turn')
})

feature('tools', async (rig) => {
  await answerWithTool(rig)
  const { name, description, parameters } = WEATHER
  const input_schema = { ...parameters, required: [...parameters.required] }
  const answer = await clientOf(rig)
    .messages.stream({ ...ask, tools: [{ name, description, input_schema }] })
    .finalMessage()
  const call = answer.content.find((block) => block.type === 'tool_use')
  assert.deepEqual(call?.input, { city: 'Oslo' })
  assert.equal(answer.stop_reason, 'tool_use')
})

feature('thinking', async (rig) => {
  const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
  const answer = await clientOf(rig)
    .messages.stream({ ...ask, max_tokens: 2048, thinking })
    .finalMessage()
  assert.ok(answer.content.some(({ type }) => type === 'thinking'))
})

feature('thinking on a model without it is dropped', async (rig) => {
  const thinking = { type: 'enabled' as const, budget_tokens: 1024 }
  const answer = await clientOf(rig).messages.create({
    ...ask,
    model: PLAIN,
    max_tokens: 2048,
    thinking,
  })
  assert.equal(answer.stop_reason, 'end_turn')
})

feature('count_tokens', async (rig) => {
  const { input_tokens } = await clientOf(rig).messages.countTokens({ model: MODEL, messages })
  assert.ok(input_tokens > 0)
  for (const sim of rig.sims) {
    assert.deepEqual(sim.record.requests({ path: '/v1/messages/count_tokens' }), [])
  }
})

feature('models', async (rig) => {
  const ids = []
  for await (const { id } of clientOf(rig).models.list()) ids.push(id)
  assert.ok(ids.includes(MODEL))
})

feature('404', async (rig) => {
  const error = await failure(clientOf(rig).messages.create({ ...ask, model: 'nope' }))
  assert.equal(error.status, 404)
  assert.equal(error.type, 'not_found_error')
  assert.ok(error.requestID)
})

feature('400 capability', async (rig) => {
  const tools = [{ name: 'x', input_schema: { type: 'object' as const } }]
  const error = await failure(clientOf(rig).messages.create({ ...ask, model: PLAIN, tools }))
  assert.equal(error.status, 400)
  assert.match(error.message, /does not support tools/)
})

feature('context overflow', async (rig) => {
  const long = [{ role: 'user' as const, content: QUICK_OVERFLOW }]
  const error = await failure(clientOf(rig).messages.create({ ...ask, messages: long }))
  assert.equal(error.status, 400)
  assert.equal(error.type, 'invalid_request_error')
  assert.match(error.message, /prompt is too long/)
})

feature('503', async (rig) => {
  await takeDown(rig)
  const error = await failure(clientOf(rig).messages.create(ask))
  assert.equal(error.status, 503)
  assert.equal(error.type, 'overloaded_error')
})

feature('mid-stream death', async (rig) => {
  await cutStreams(rig)
  const error = await failure(clientOf(rig).messages.stream(ask).finalMessage())
  assert.match(error.message, /node-\d\\?" closed the stream/)
})

feature('cancel', async (rig) => {
  for (const sim of rig.sims) sim.set({ tokens: 1000, tokenMs: 20 })
  const stream = clientOf(rig).messages.stream({ ...ask, max_tokens: 1000 })
  stream.done().catch(() => {}) // our own abort
  stream.once('streamEvent', () => stream.abort())
  await seenLeaving(rig)
})

feature('30 in parallel', async (rig) => {
  const client = clientOf(rig)
  const answers = await Promise.all(Array.from({ length: 30 }, () => client.messages.create(ask)))
  assert.ok(answers.every(({ stop_reason }) => stop_reason === 'end_turn'))
})
