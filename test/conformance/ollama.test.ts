// The official Ollama package for Node, unmodified.

import assert from 'node:assert/strict'
import { Ollama } from 'ollama'
import { rejectionOf } from '../support/rejection.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
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

const { feature } = clientSuite('ollama')
const messages = [{ role: 'user', content: 'hello' }]
const tool = {
  type: 'function',
  function: { ...WEATHER, parameters: { ...WEATHER.parameters, required: ['city'] } },
}

const clientOf = (rig: Rig): Ollama => new Ollama({ host: rig.url })

async function failure(promise: Promise<unknown>): Promise<Error & { status_code?: number }> {
  const error = await rejectionOf(promise)
  assert.ok(error instanceof Error, `an Error, not ${String(error)}`)
  return error
}

feature('chat', async (rig) => {
  const answer = await clientOf(rig).chat({ model: MODEL, messages })
  assert.equal(answer.done, true)
  assert.equal(answer.model, MODEL)
})

feature('chat stream', async (rig) => {
  const parts = []
  for await (const part of await clientOf(rig).chat({ model: MODEL, messages, stream: true })) {
    parts.push(part)
  }
  assert.equal(parts.at(-1)?.done, true)
})

feature('generate', async (rig) => {
  const answer = await clientOf(rig).generate({ model: PLAIN, prompt: 'x' })
  assert.ok((answer.response ?? '').length > 0)
})

feature('tools', async (rig) => {
  await answerWithTool(rig)
  const answer = await clientOf(rig).chat({ model: MODEL, messages, tools: [tool] })
  assert.deepEqual(answer.message.tool_calls?.[0]?.function.arguments, { city: 'Oslo' })
})

feature('structured output', async (rig) => {
  const format = { type: 'object', properties: { a: { type: 'number' } } }
  await clientOf(rig).chat({ model: MODEL, messages, format })
  const sent = rig.sims.flatMap((sim) => sim.record.requests({ path: '/api/chat' }))
  assert.deepEqual(JSON.parse(String(sent[0]?.body)).format, format)
})

feature('embed', async (rig) => {
  const answer = await clientOf(rig).embed({ model: EMBED, input: ['a', 'b'] })
  assert.equal(answer.embeddings.length, 2)
})

feature('list, ps, show, version', async (rig) => {
  const client = clientOf(rig)
  const { models } = await client.list()
  assert.ok(models.some(({ name, digest }) => name === MODEL && digest.length >= 12))
  await client.generate({ model: PLAIN, prompt: '' })
  await until(async () => (await client.ps()).models.length > 0, {
    timeoutMs: 5000,
    what: 'the loaded model is listed',
  })
  assert.ok((await client.show({ model: MODEL })).capabilities?.includes('tools'))
  assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/)
})

feature('unload', async (rig) => {
  const client = clientOf(rig)
  await client.generate({ model: PLAIN, prompt: '' })
  await until(async () => (await client.ps()).models.length > 0, {
    timeoutMs: 5000,
    what: 'the loaded model is listed',
  })
  await client.generate({ model: PLAIN, prompt: '', keep_alive: 0 })
  assert.ok(rig.sims.every((sim) => sim.scheduler.loaded().length === 0))
})

feature('pull is refused with a reason', async (rig) => {
  const error = await failure(clientOf(rig).pull({ model: 'delta:1b' }))
  assert.equal(error.status_code, 403)
  assert.match(error.message, /pull/)
})

feature('404', async (rig) => {
  const error = await failure(clientOf(rig).chat({ model: 'nope', messages }))
  assert.equal(error.status_code, 404)
  assert.match(error.message, /not found/)
})

feature('400 capability', async (rig) => {
  const error = await failure(clientOf(rig).chat({ model: PLAIN, messages, tools: [tool] }))
  assert.equal(error.status_code, 400)
  assert.match(error.message, /does not support tools/)
})

feature('context overflow', async (rig) => {
  const long = [{ role: 'user', content: QUICK_OVERFLOW }]
  const error = await failure(clientOf(rig).chat({ model: MODEL, messages: long }))
  assert.equal(error.status_code, 400)
  assert.match(error.message, /too long/)
})

feature('503', async (rig) => {
  await takeDown(rig)
  const error = await failure(clientOf(rig).chat({ model: MODEL, messages }))
  assert.equal(error.status_code, 503)
})

feature('mid-stream death', async (rig) => {
  await cutStreams(rig)
  const stream = await clientOf(rig).chat({ model: MODEL, messages, stream: true })
  const error = await failure(
    (async () => {
      for await (const _ of stream);
    })(),
  )
  assert.match(error.message, /closed the stream/)
})

feature('abort', async (rig) => {
  for (const sim of rig.sims) sim.set({ tokens: 1000, tokenMs: 20 })
  const stream = await clientOf(rig).chat({ model: MODEL, messages, stream: true })
  const error = await failure(
    (async () => {
      for await (const _ of stream) stream.abort()
    })(),
  )
  assert.equal(error.name, 'AbortError')
  await seenLeaving(rig)
})

feature('30 in parallel', async (rig) => {
  const client = clientOf(rig)
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => client.chat({ model: MODEL, messages })),
  )
  assert.ok(answers.every(({ done }) => done))
})
