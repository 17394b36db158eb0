// The official OpenAI SDK for Node, unmodified, as people point it at the gateway.

import assert from 'node:assert/strict'
import OpenAI from 'openai'
import { rejectionOf } from '../support/rejection.ts'
import type { Rig } from '../support/rig.ts'
import {
  answerWithTool,
  clientSuite,
  cutStreams,
  EMBED,
  MODEL,
  PLAIN,
  QUICK_OVERFLOW,
  seenLeaving,
  takeDown,
  WEATHER,
} from './bench-of-clients.ts'

const { feature } = clientSuite('openai')
const messages = [{ role: 'user' as const, content: 'hello' }]

function clientOf(rig: Rig, maxRetries = 0): OpenAI {
  return new OpenAI({ baseURL: `${rig.url}/v1`, apiKey: 'ollama', maxRetries })
}

async function failure(promise: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error = await rejectionOf(promise)
  assert.ok(error instanceof OpenAI.APIError, `an APIError, not ${String(error)}`)
  return error
}

feature('chat', async (rig) => {
  const answer = await clientOf(rig).chat.completions.create({ model: MODEL, messages })
  assert.equal(answer.choices[0]?.finish_reason, 'stop')
  assert.ok((answer.usage?.completion_tokens ?? 0) > 0)
  assert.equal(answer.model, MODEL)
})

feature('chat stream', async (rig) => {
  const stream = await clientOf(rig).chat.completions.create({
    model: MODEL,
    messages,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  assert.ok(chunks.some(({ choices }) => choices[0]?.finish_reason === 'stop'))
  assert.ok((chunks.at(-1)?.usage?.total_tokens ?? 0) > 0)
})

feature('tools', async (rig) => {
  await answerWithTool(rig)
  const answer = await clientOf(rig).chat.completions.create({
    model: MODEL,
    messages,
    tools: [{ type: 'function', function: WEATHER }],
  })
  const [call] = answer.choices[0]?.message.tool_calls ?? []
  assert.ok(call?.type === 'function')
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Oslo' })
  assert.equal(answer.choices[0]?.finish_reason, 'tool_calls')
})

feature('structured output', async (rig) => {
  const schema = { type: 'object', properties: { a: { type: 'number' } } }
  await clientOf(rig).chat.completions.create({
    model: MODEL,
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
  })
  const sent = rig.sims.flatMap((sim) => sim.record.requests({ path: '/v1/chat/completions' }))
  assert.deepEqual(JSON.parse(String(sent[0]?.body)).response_format.json_schema.schema, schema)
})

feature('embeddings (base64 by default)', async (rig) => {
  const answer = await clientOf(rig).embeddings.create({ model: EMBED, input: ['a', 'b'] })
  assert.equal(answer.data.length, 2)
  assert.equal(answer.data[0]?.embedding.length, 64)
})

feature('responses', async (rig) => {
  const answer = await clientOf(rig).responses.create({ model: MODEL, input: 'hello' })
  assert.equal(answer.status, 'completed')
  const types = []
  const stream = await clientOf(rig).responses.create({ model: MODEL, input: 'x', stream: true })
  for await (const event of stream) types.push(event.type)
  assert.equal(types.at(-1), 'response.completed')
  // As docs/clients/openai-sdk.md says: the helper wants an event that Ollama does not send before
  // a thought. When a newer SDK reads it, the page can say less.
  const ask = { model: MODEL, input: 'x' }
  const helper = clientOf(rig).responses.stream({ ...ask, reasoning: { effort: 'none' } })
  assert.equal((await helper.finalResponse()).status, 'completed')
  await assert.rejects(clientOf(rig).responses.stream(ask).finalResponse(), /missing content/)
})

feature('models', async (rig) => {
  const ids = (await clientOf(rig).models.list()).data.map(({ id }) => id)
  assert.ok(ids.includes(MODEL))
  assert.equal((await clientOf(rig).models.retrieve(MODEL)).id, MODEL)
  assert.equal((await clientOf(rig).models.retrieve('library/qwen3:8b')).object, 'model')
})

feature('404', async (rig) => {
  const error = await failure(clientOf(rig).chat.completions.create({ model: 'nope', messages }))
  assert.equal(error.status, 404)
  assert.match(error.message, /not found/)
  assert.ok(error.requestID)
})

feature('400 capability', async (rig) => {
  const tools = [{ type: 'function' as const, function: WEATHER }]
  const error = await failure(
    clientOf(rig).chat.completions.create({ model: PLAIN, messages, tools }),
  )
  assert.equal(error.status, 400)
  assert.match(error.message, /does not support tools/)
})

feature('context overflow', async (rig) => {
  const long = [{ role: 'user' as const, content: QUICK_OVERFLOW }]
  const error = await failure(
    clientOf(rig).chat.completions.create({ model: MODEL, messages: long }),
  )
  assert.equal(error.status, 400)
  assert.equal(error.code, 'context_length_exceeded')
})

feature('503', async (rig) => {
  await takeDown(rig)
  const error = await failure(clientOf(rig).chat.completions.create({ model: MODEL, messages }))
  assert.equal(error.status, 503)
  assert.ok(Number(error.headers?.get('retry-after')) >= 1)
  assert.match(error.message, /node-1.*node-2/s)
})

feature('mid-stream death', async (rig) => {
  await cutStreams(rig)
  const stream = await clientOf(rig).chat.completions.create({
    model: MODEL,
    messages,
    stream: true,
  })
  const error = await failure(
    (async () => {
      for await (const _ of stream);
    })(),
  )
  assert.match(error.message, /node-\d" closed the stream/)
})

feature('cancel', async (rig) => {
  for (const sim of rig.sims) sim.set({ tokens: 1000, tokenMs: 20 })
  const stream = await clientOf(rig).chat.completions.create({
    model: MODEL,
    messages,
    stream: true,
  })
  for await (const _ of stream) break
  await seenLeaving(rig)
})

feature('30 in parallel', async (rig) => {
  const client = clientOf(rig)
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => client.chat.completions.create({ model: MODEL, messages })),
  )
  assert.ok(answers.every(({ choices }) => choices[0]?.finish_reason === 'stop'))
  for (const sim of rig.sims) assert.ok(sim.record.concurrency().high <= 4)
})
