// What every client needs of an answer, whoever it is: a content type that is true, a body that
// parses, and a stream that ends as its dialect says.

import assert from 'node:assert/strict'
import type { Answer, Sent } from './recorded-clients.ts'

type Json = Record<string, unknown>

/** The events of an SSE answer, each with its data as it came. */
export function eventsOf({ text }: Answer): { event: string; data: string }[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const lines = block.split('\n')
      const of = (name: string): string =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
      return { event: of('event'), data: of('data') }
    })
}

/** Its NDJSON lines. The CLI and both SDKs raise at a blank one. */
export function linesOf({ text }: Answer): Json[] {
  assert.ok(text.endsWith('\n'), 'the last line is whole')
  const lines = text.slice(0, -1).split('\n')
  assert.ok(
    lines.every((line) => line.trim() !== ''),
    'no blank line',
  )
  return lines.map((line) => JSON.parse(line) as Json)
}

export function checkAnswer(sent: Sent, answer: Answer): void {
  if (sent.method === 'HEAD') {
    assert.equal(answer.text, '')
  } else if (answer.status >= 400) {
    checkError(sent, answer)
  } else if (streams(sent)) {
    checkStream(sent, answer)
  } else if (sent.path === '/') {
    assert.equal(answer.text, 'Ollama is running')
  } else {
    assert.match(answer.type, /^application\/json/)
    checkBody(sent, answer.json<Json>())
  }
}

/** Each dialect has a default of its own. A load and an unload are one object, as from a real one. */
export function streams({ path, body }: Sent): boolean {
  const { stream, prompt, keep_alive: kept } = JSON.parse(body ?? '{}') as Json
  if (path === '/api/generate' && prompt === '' && kept !== undefined) return false
  if (/^\/api\/(?:chat|generate|pull|push|create)$/.test(path)) return stream !== false
  return stream === true
}

function checkStream({ path }: Sent, answer: Answer): void {
  if (path.startsWith('/api/')) {
    assert.match(answer.type, /^application\/x-ndjson/)
    assert.equal(linesOf(answer).at(-1)?.['done'], true, 'the last line is done')
    return
  }
  assert.match(answer.type, /^text\/event-stream/)
  const events = eventsOf(answer)
  const last = events.at(-1)
  if (path.startsWith('/v1/messages')) {
    assert.equal(events[0]?.event, 'message_start')
    assert.equal(last?.event, 'message_stop')
  } else if (path === '/v1/responses') {
    assert.equal(events[0]?.event, 'response.created')
    assert.equal(last?.event, 'response.completed')
  } else {
    assert.equal(last?.data, '[DONE]')
  }
  for (const { data } of events) if (data !== '[DONE]') JSON.parse(data)
}

/** ollama-js prints `[object Object]` for a native error that is no string. */
function checkError({ path }: Sent, answer: Answer): void {
  assert.match(answer.type, /^application\/json/)
  const { error, type } = answer.json<{ error: string | { message: string }; type?: string }>()
  if (path.startsWith('/v1/')) {
    assert.ok(typeof error === 'object' && error.message.length > 0, answer.text)
    assert.equal(type, path.startsWith('/v1/messages') ? 'error' : undefined)
  } else {
    assert.ok(typeof error === 'string' && error.length > 0, answer.text)
  }
}

const BODIES: [RegExp, (body: Json, sent: Sent) => void][] = [
  [/^\/api\/version$/, ({ version }) => assert.match(String(version), /^\d+\.\d+\.\d+/)],
  [/^\/api\/(?:tags|ps)$/, ({ models }) => (models as Json[]).forEach(checkModel)],
  [
    /^\/api\/show$/,
    (show) => {
      const capabilities = show['capabilities'] as string[]
      assert.ok(Array.isArray(capabilities) && capabilities.length > 0)
      const info = show['model_info'] as Json
      const architecture = String(info['general.architecture'])
      assert.equal(typeof info[`${architecture}.context_length`], 'number')
    },
  ],
  [/^\/api\/(?:chat|generate)$/, ({ done }) => assert.equal(done, true)],
  [
    /^\/api\/embed$/,
    ({ embeddings }) => assert.equal(typeof (embeddings as number[][])[0]?.[0], 'number'),
  ],
  [
    /^\/v1\/embeddings$/,
    ({ data }, { body }) => {
      // B102: SDKs ask for base64 without being told to, and decode what comes.
      const base64 = body?.includes('base64') === true
      for (const { embedding } of data as Json[]) {
        assert.equal(typeof embedding, base64 ? 'string' : 'object')
      }
    },
  ],
  [/^\/v1\/chat\/completions$/, ({ choices }) => assert.equal((choices as Json[]).length, 1)],
  [/^\/v1\/responses$/, ({ status }) => assert.equal(status, 'completed')],
  [/^\/v1\/messages(?:\?.*)?$/, ({ type }) => assert.equal(type, 'message')],
  [
    /^\/v1\/messages\/count_tokens/,
    ({ input_tokens: tokens }) => assert.ok(Number.isInteger(tokens) && Number(tokens) > 0),
  ],
  [/^\/v1\/models(?:\?.*)?$/, checkModelList],
  [/^\/v1\/models\/./, ({ object }) => assert.equal(object, 'model')],
]

function checkBody(sent: Sent, body: Json): void {
  const found = BODIES.find(([path]) => path.test(sent.path))
  assert.ok(found, `it is written down what clients need of ${sent.path}`)
  found[1](body, sent)
}

/** `ollama ls` and `ollama ps` cut the digest to 12 characters, and crash where it is shorter. */
function checkModel(model: Json): void {
  for (const field of ['name', 'model', 'digest']) assert.equal(typeof model[field], 'string')
  assert.ok(String(model['digest']).length >= 12)
  assert.equal(typeof model['size'], 'number')
  const dated = model['expires_at'] ?? model['modified_at']
  assert.ok(Number.isFinite(Date.parse(String(dated))))
  // Zed reads each of these, and drops the whole list where one is absent.
  const details = model['details'] as Json
  for (const field of ['format', 'family', 'parameter_size', 'quantization_level']) {
    assert.equal(typeof details[field], 'string', field)
  }
}

/** One body for clients of OpenAI and of Anthropic. */
function checkModelList(body: Json): void {
  assert.equal(body['object'], 'list')
  assert.equal(typeof body['has_more'], 'boolean')
  const data = body['data'] as Json[]
  assert.equal(body['first_id'], data[0]?.['id'])
  for (const model of data) {
    assert.equal(model['object'], 'model')
    assert.equal(model['type'], 'model')
    for (const field of ['id', 'owned_by', 'display_name', 'created_at']) {
      assert.equal(typeof model[field], 'string', field)
    }
    assert.equal(typeof model['created'], 'number')
  }
}
