import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyFor } from '../../support/key-drafts.ts'
import { startRig } from '../../support/rig.ts'

const messages = [{ role: 'user', content: 'hi' }]
const KEYS = { auth: { mode: 'keys' } }

interface Answer {
  error: { message?: string; type?: string }
}

const DIALECTS: { path: string; body: object; message: (answer: Answer) => unknown }[] = [
  { path: '/api/chat', body: { messages }, message: ({ error }) => error },
  { path: '/v1/chat/completions', body: { messages }, message: ({ error }) => error.message },
  { path: '/v1/embeddings', body: { input: 'x' }, message: ({ error }) => error.message },
  { path: '/v1/responses', body: { input: 'x' }, message: ({ error }) => error.message },
  {
    path: '/v1/messages',
    body: { messages, max_tokens: 9 },
    message: ({ error }) => error.type === 'authentication_error' && error.message,
  },
]

// B129: `ollama` begins with HEAD / and has nothing to send; clients show what a 401 says.
test('without a key: 401 in every dialect, HEAD / and GET / as ever', async () => {
  await using rig = await startRig({ workers: [{ models: ['m:1b'] }], config: KEYS })
  for (const { path, body, message } of DIALECTS) {
    for (const authorization of [undefined, 'Bearer sk-TESTLEAK-1']) {
      const headers = authorization === undefined ? {} : { authorization }
      const answer = await rig.post(path, { model: 'm:1b', ...body }, { headers })
      assert.equal(answer.status, 401, path)
      assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
      assert.match(String(message((await answer.json()) as Answer)), /key/)
    }
  }
  const root = await fetch(`${rig.url}/`)
  assert.equal(await root.text(), 'Ollama is running')
  for (const path of ['/', '/k/wrong/', '/k/wrong']) {
    const head = await fetch(`${rig.url}${path}`, { method: 'HEAD' })
    assert.equal(head.status, 200, path)
  }
  const statuses = []
  for (const path of ['/api/version', '/api/tags', '/api/ps', '/v1/models', '/v1/models/m:1b']) {
    statuses.push((await fetch(`${rig.url}${path}`)).status)
  }
  assert.deepEqual(statuses, [200, 401, 401, 401, 401])
  const tags = (await (await fetch(`${rig.url}/api/tags`)).json()) as { error: string }
  assert.match(tags.error, /needs a key/)
  assert.equal(rig.sims[0]?.record.requests({ path: '/api/chat' }).length, 0)
})

// B127: a preflight has no key, and asks whether it may send one.
test('a preflight is answered without a key, and a refusal has its CORS header', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'] }],
    config: { ...KEYS, cors: { origins: ['https://app.example'] } },
  })
  const headers = {
    origin: 'https://app.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, x-stainless-os, baggage',
  }
  for (const path of ['/api/chat', '/v1/messages', '/api/tags', '/v1/models']) {
    const preflight = await fetch(`${rig.url}${path}`, { method: 'OPTIONS', headers })
    assert.equal(preflight.status, 204)
    assert.match(preflight.headers.get('access-control-allow-headers') ?? '', /baggage/)
  }
  const refused = await rig.post('/api/chat', { model: 'm:1b', messages }, { headers })
  assert.equal(refused.status, 401)
  assert.equal(refused.headers.get('access-control-allow-origin'), 'https://app.example')
})

// B124: a key of the gateway is no business of a worker, which may even refuse it.
test('with a key every dialect is served, and no worker ever sees the key', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'] }],
    workerConfig: { headers: { 'x-own': 'worker-secret' } },
    config: KEYS,
  })
  const { authorization } = await keyFor(rig)
  const key = authorization.slice('Bearer '.length)
  const ways = [
    { prefix: '', headers: { authorization } },
    { prefix: '', headers: { 'x-api-key': key } },
    { prefix: `/k/${key}`, headers: {} },
    { prefix: '', headers: { authorization, 'x-api-key': key, cookie: `k=${key}` } },
  ]
  for (const { prefix, headers } of ways) {
    for (const { path, body } of DIALECTS.filter(({ path: route }) => !route.includes('embed'))) {
      const answer = await rig.post(`${prefix}${path}`, { model: 'm:1b', ...body }, { headers })
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
    }
    assert.equal((await fetch(`${rig.url}${prefix}/api/tags`, { headers })).status, 200)
  }
  const seen = JSON.stringify(rig.sims[0]?.record.requests({}))
  assert.ok(seen.includes('worker-secret'))
  assert.ok(!seen.includes(key), 'a worker saw the key')
  assert.ok(!JSON.stringify(rig.log).includes(key), 'the log has the key')
})

test('a model list binds what runs, under any alias or fallback, and what is listed', async () => {
  await using rig = await startRig({
    workers: [{ models: ['small:1b', 'big:32b'] }],
    config: {
      ...KEYS,
      aliases: { 'gpt-4o': 'big:32b', mini: 'small:1b' },
      fallbacks: [{ model: 'gone:1b', when: 'absent', use: 'big:32b' }],
      tenants: [{ name: 'team', allowed_models: ['small:*', 'gone:*'] }],
    },
  })
  const headers = await keyFor(rig, { tenant: 'team' })
  const statusOf = async (model: string) =>
    (await rig.post('/api/chat', { model, messages, stream: false }, { headers })).status
  assert.equal(await statusOf('mini'), 200)
  for (const model of ['big:32b', 'BIG:32b', 'library/big:32b', 'gpt-4o']) {
    assert.equal(await statusOf(model), 403, model)
  }
  const list = async (path: string) => (await fetch(`${rig.url}${path}`, { headers })).text()
  for (const path of ['/api/tags', '/v1/models']) {
    const text = await list(path)
    assert.ok(text.includes('small:1b') && !text.includes('big:32b'), text)
    assert.ok(!text.includes('gpt-4o'))
  }
  assert.equal((await rig.post('/api/show', { model: 'gpt-4o' }, { headers })).status, 403)
  assert.equal((await fetch(`${rig.url}/v1/models/big:32b`, { headers })).status, 404)
  const free = await keyFor(rig)
  const all = await (await fetch(`${rig.url}/api/tags`, { headers: free })).text()
  assert.ok(all.includes('big:32b'))
})

test('a key with the scope read looks and does not run', async () => {
  await using rig = await startRig({ workers: [{ models: ['m:1b'] }], config: KEYS })
  const headers = await keyFor(rig, { scope: 'read' })
  assert.equal((await fetch(`${rig.url}/api/tags`, { headers })).status, 200)
  const answer = await rig.post('/v1/chat/completions', { model: 'm:1b', messages }, { headers })
  assert.equal(answer.status, 403)
  const { error } = (await answer.json()) as { error: { message: string } }
  assert.match(error.message, /scope "read"/)
})

test('a listener that others can reach starts only with keys, or where it is written out', async () => {
  const listen = '0.0.0.0:0'
  // A worker of another kind: a simulated one would outlive the start that fails.
  const workers = [{ url: 'http://127.0.0.1:1' }]
  await assert.rejects(startRig({ workers, config: { listen } }), /no key yet.*ogw keys create/)
  for (const mode of ['keys', 'open']) {
    await using rig = await startRig({ config: { listen, auth: { mode } } })
    const { status } = await fetch(`${rig.url}/api/tags`)
    assert.equal(status, mode === 'keys' ? 401 : 200)
  }
})

test('a thousand wrong keys leave the others alone, and one line in the log', async () => {
  await using rig = await startRig({ workers: [{ models: ['m:1b'] }], config: KEYS })
  const headers = await keyFor(rig)
  const wrong = Array.from({ length: 1000 }, async (_, i) => {
    const guess = { authorization: `Bearer sk-TESTLEAK-${i}` }
    const answer = await rig.post('/api/chat', { model: 'm:1b', messages }, { headers: guess })
    await answer.arrayBuffer()
    return answer.status
  })
  const right = await rig.post('/api/chat', { model: 'm:1b', messages }, { headers })
  assert.equal(right.status, 200)
  await right.text()
  assert.deepEqual(new Set(await Promise.all(wrong)), new Set([401]))
  assert.equal(rig.log.filter(({ event }) => event === 'auth.refused').length, 1)
  assert.ok(!JSON.stringify(rig.log).includes('TESTLEAK'))
})
