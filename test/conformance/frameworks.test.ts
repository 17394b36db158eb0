// Frameworks that sit on other people's SDKs: the AI SDK with its OpenAI and Ollama providers, and
// LangChain's Ollama packages.

import assert from 'node:assert/strict'
import { createOpenAI } from '@ai-sdk/openai'
import { ChatOllama, OllamaEmbeddings } from '@langchain/ollama'
import { APICallError, embedMany, generateText, jsonSchema, streamText, tool } from 'ai'
import type { LanguageModel } from 'ai'
import { createOllama } from 'ollama-ai-provider-v2'
import { rejectionOf } from '../support/rejection.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import {
  answerWithTool,
  clientSuite,
  EMBED,
  MODEL,
  PLAIN,
  QUICK_OVERFLOW,
  WEATHER,
} from './bench-of-clients.ts'

interface AiProvider {
  name: string
  model(rig: Rig, id: string): LanguageModel
}

const providers: AiProvider[] = [
  {
    name: 'ai + @ai-sdk/openai (chat)',
    model: (rig, id) => createOpenAI({ baseURL: `${rig.url}/v1`, apiKey: 'ollama' }).chat(id),
  },
  {
    name: 'ai + @ai-sdk/openai (responses)',
    model: (rig, id) => createOpenAI({ baseURL: `${rig.url}/v1`, apiKey: 'ollama' }).responses(id),
  },
  {
    name: 'ai + ollama-ai-provider-v2',
    model: (rig, id) => createOllama({ baseURL: `${rig.url}/api` })(id),
  },
]

const prompt = 'hello'
const once = { maxRetries: 0 }

for (const { name, model } of providers) {
  const { feature } = clientSuite(name)

  feature('text', async (rig) => {
    const { text, finishReason } = await generateText({ model: model(rig, PLAIN), prompt, ...once })
    assert.ok(text.length > 0)
    assert.equal(finishReason, 'stop')
  })

  feature('stream', async (rig) => {
    const result = streamText({ model: model(rig, PLAIN), prompt, ...once })
    let text = ''
    for await (const part of result.textStream) text += part
    assert.ok(text.length > 0)
    assert.equal(await result.finishReason, 'stop')
  })

  feature('tools', async (rig) => {
    await answerWithTool(rig)
    const inputSchema = jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    })
    const { toolCalls } = await generateText({
      model: model(rig, MODEL),
      prompt,
      tools: { [WEATHER.name]: tool({ description: WEATHER.description, inputSchema }) },
      ...once,
    })
    assert.deepEqual(toolCalls[0]?.input, { city: 'Oslo' })
  })

  feature('404', async (rig) => {
    const error = await rejectionOf(generateText({ model: model(rig, 'nope'), prompt, ...once }))
    assert.ok(APICallError.isInstance(error))
    assert.equal(error.statusCode, 404)
  })

  feature('context overflow', async (rig) => {
    const long = { model: model(rig, MODEL), prompt: QUICK_OVERFLOW, ...once }
    const error = await rejectionOf(generateText(long))
    assert.ok(APICallError.isInstance(error))
    assert.equal(error.statusCode, 400)
  })

  feature('30 in parallel', async (rig) => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => generateText({ model: model(rig, PLAIN), prompt, ...once })),
    )
    assert.ok(answers.every(({ finishReason }) => finishReason === 'stop'))
  })
}

const embeddings = clientSuite('ai embeddings')
embeddings.feature('embed many', async (rig) => {
  const provider = createOpenAI({ baseURL: `${rig.url}/v1`, apiKey: 'ollama' })
  const answer = await embedMany({ model: provider.embeddingModel(EMBED), values: ['a', 'b'] })
  assert.equal(answer.embeddings.length, 2)
  assert.equal(answer.embeddings[0]?.length, 64)
})

const langchain = clientSuite('@langchain/ollama')

langchain.feature('invoke', async (rig) => {
  const answer = await new ChatOllama({ baseUrl: rig.url, model: PLAIN }).invoke(prompt)
  assert.ok(answer.text.length > 0)
})

langchain.feature('stream', async (rig) => {
  let text = ''
  for await (const part of await new ChatOllama({ baseUrl: rig.url, model: PLAIN }).stream(
    prompt,
  )) {
    text += part.text
  }
  assert.ok(text.length > 0)
})

langchain.feature('tools', async (rig) => {
  await answerWithTool(rig)
  const chat = new ChatOllama({ baseUrl: rig.url, model: MODEL })
  const answer = await chat.bindTools([{ type: 'function', function: WEATHER }]).invoke(prompt)
  assert.deepEqual(answer.tool_calls?.[0]?.args, { city: 'Oslo' })
})

langchain.feature('embeddings', async (rig) => {
  const vectors = new OllamaEmbeddings({ baseUrl: rig.url, model: EMBED })
  assert.equal((await vectors.embedDocuments(['a', 'b'])).length, 2)
})

langchain.feature('404', async (rig) => {
  const chat = new ChatOllama({ baseUrl: rig.url, model: 'nope', maxRetries: 0 })
  await assert.rejects(chat.invoke(prompt), /not found/)
})

langchain.feature('cancel', async (rig) => {
  for (const sim of rig.sims) sim.set({ tokens: 1000, tokenMs: 20 })
  const leave = new AbortController()
  const chat = new ChatOllama({ baseUrl: rig.url, model: PLAIN })
  const stream = await chat.stream(prompt, { signal: leave.signal })
  await assert.rejects(async () => {
    for await (const _ of stream) leave.abort()
  })
  await until(() => rig.sims.some((sim) => sim.record.requests().some(({ hungUp }) => hungUp)), {
    timeoutMs: 5000,
    what: 'the worker sees the client leave',
  })
})
