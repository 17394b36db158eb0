import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../../support/rig.ts'

const messages = [{ role: 'user', content: 'hello' }]

/** One answered request in every dialect, streamed and not: what a client needs to be content. */
const routes: { path: string; body: object; stream?: boolean; ends: RegExp }[] = [
  { path: '/api/chat', body: { messages }, stream: true, ends: /"done":true[^\n]*\n$/ },
  { path: '/api/chat', body: { messages }, stream: false, ends: /"done":true/ },
  { path: '/api/generate', body: { prompt: 'x' }, stream: true, ends: /"done":true[^\n]*\n$/ },
  { path: '/api/generate', body: { prompt: 'x' }, stream: false, ends: /"done":true/ },
  { path: '/v1/chat/completions', body: { messages }, stream: true, ends: /data: \[DONE\]\n\n$/ },
  { path: '/v1/chat/completions', body: { messages }, stream: false, ends: /finish_reason/ },
  { path: '/v1/completions', body: { prompt: 'x' }, stream: true, ends: /data: \[DONE\]\n\n$/ },
  { path: '/v1/responses', body: { input: 'x' }, stream: true, ends: /response\.completed/ },
  {
    path: '/v1/messages',
    body: { messages, max_tokens: 5 },
    stream: true,
    ends: /message_stop"}\n\n$/,
  },
  { path: '/v1/messages', body: { messages, max_tokens: 5 }, stream: false, ends: /stop_reason/ },
]

test('every inference route answers through the gateway as it does directly', async () => {
  await using rig = await startRig({ workers: [{ models: ['chat:1b', 'embed:1b'] }] })
  const direct = rig.sims[0]?.url ?? ''
  for (const { path, body, stream, ends } of routes) {
    const sent = JSON.stringify({ model: 'chat:1b', ...body, stream })
    const [ours, theirs] = await Promise.all(
      [rig.url, direct].map((base) => fetch(base + path, { method: 'POST', body: sent })),
    )
    assert.ok(ours && theirs)
    const text = await ours.text()
    assert.equal(ours.status, 200, `${path} ${text}`)
    assert.match(text, ends, path)
    assert.equal(ours.headers.get('content-type'), theirs.headers.get('content-type'), path)
    assert.equal(ours.headers.get('x-ogw-worker'), 'node-1')
    assert.equal(ours.headers.get('x-ogw-attempts'), '1')
    assert.match(ours.headers.get('x-ogw-queue-ms') ?? '', /^\d+$/)
    assert.equal(ours.headers.get('x-request-id'), ours.headers.get('request-id'))
    assert.match(await theirs.text(), ends)
  }
  await rig.quiet()
  assert.deepEqual(
    rig.done.map(({ outcome }) => outcome),
    routes.map(() => 'ok'),
  )
  for (const { path } of routes) assert.ok(rig.sims[0]?.record.counts()[`POST ${path}`])
})

test('embeddings in three dialects', async () => {
  await using rig = await startRig({ workers: [{ models: ['embed:1b'] }] })
  const embed = await rig.post('/api/embed', { model: 'embed:1b', input: ['a', 'b'] })
  const v1 = await rig.post('/v1/embeddings', {
    model: 'embed:1b',
    input: 'a',
    encoding_format: 'base64',
  })
  const legacy = await rig.post('/api/embeddings', { model: 'EMBED:1B', prompt: 'a' })
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of a worker
  const [a, b, c]: any[] = await Promise.all([embed, v1, legacy].map((answer) => answer.json()))
  assert.equal(a.embeddings.length, 2)
  assert.equal(typeof b.data[0].embedding, 'string')
  assert.ok(c.embedding.length > 0, "the legacy route was sent the worker's own spelling")
})
