import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../../support/rig.ts'
import type { Rig } from '../../support/rig.ts'
import { until } from '../../support/until.ts'

const messages = [{ role: 'user', content: 'hi' }]
const models = ['big:32b', { name: 'small:8b', capabilities: ['completion'] }, 'tools:8b']

function sentModels(rig: Rig, path: string): unknown[] {
  return rig.sims.flatMap((sim) =>
    sim.record.requests({ path }).map(({ body }) => JSON.parse(String(body)).model),
  )
}

const routes: { path: string; body: object; count: number }[] = [
  { path: '/api/chat', body: { messages }, count: 8 },
  { path: '/api/chat', body: { messages, stream: false }, count: 1 },
  { path: '/api/generate', body: { prompt: 'x' }, count: 8 },
  { path: '/v1/chat/completions', body: { messages, stream: true }, count: 8 },
  { path: '/v1/chat/completions', body: { messages }, count: 1 },
  { path: '/v1/responses', body: { input: 'x', stream: true }, count: 2 },
  { path: '/v1/messages', body: { messages, max_tokens: 9, stream: true }, count: 1 },
]

// The client asked for gpt-4o and must not notice that it is called otherwise here; a tool whose
// argument or a text that says "model" is none of the gateway's business.
test('an alias runs its model and its answer says what the client asked for', async () => {
  await using rig = await startRig({
    workers: [{ models }],
    config: { aliases: { 'gpt-4o': 'BIG:32b', 'claude-x': 'gpt-4o' } },
  })
  for (const { path, body, count } of routes) {
    for (const alias of ['gpt-4o', 'claude-x']) {
      const answer = await rig.post(path, { model: alias, ...body })
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
      assert.ok(!text.includes('big:32b'), `${path} ${text}`)
      assert.ok(text.split(`"model":"${alias}"`).length - 1 >= count, `${path} ${text}`)
    }
  }
  for (const { path } of routes) {
    assert.deepEqual(new Set(sentModels(rig, path)), new Set(['big:32b']))
  }
  const { data } = (await (await fetch(`${rig.url}/v1/models`)).json()) as {
    data: { id: string }[]
  }
  assert.deepEqual(
    data.map(({ id }) => id).filter((id) => !id.includes(':')),
    ['gpt-4o', 'claude-x'],
  )
  const show = await rig.post('/api/show', { model: 'gpt-4o' })
  assert.equal(show.status, 200)
})

test('placement is asked for the model that runs, not for its alias', async () => {
  await using rig = await startRig({
    workers: [{ models }],
    workerConfig: { model_placement: { denied_models: ['big:*'] } },
    config: { aliases: { 'gpt-4o': 'big:32b' } },
  })
  const answer = await rig.post('/api/chat', { model: 'gpt-4o', messages })
  assert.equal(answer.status, 403)
  assert.match(await answer.text(), /big:32b/)
})

test('a fallback runs only where it is written down, and says so', async () => {
  const config = {
    fallbacks: [
      { model: 'small:*', missing: ['tools'], use: 'tools:8b' },
      { model: 'gone:1b', when: 'absent', use: 'big:32b' },
    ],
  }
  await using rig = await startRig({ workers: [{ models }, { models: ['gone:1b'] }], config })
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  const ask = { model: 'small:8b', messages, tools, stream: false }
  const answer = await rig.post('/api/chat', ask)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('x-ogw-model-fallback'), 'tools:8b')
  assert.equal(((await answer.json()) as { model: string }).model, 'tools:8b')

  const plain = await rig.post('/api/chat', { model: 'small:8b', messages, stream: false })
  assert.equal(plain.headers.get('x-ogw-model-fallback'), null)

  await rig.sims[1]?.faults.add({ kind: 'refuse' })
  await until(() => rig.gateway.parts.fleet.worker('node-2')?.health.state === 'down', {
    timeoutMs: 8000,
    what: 'node-2 is down',
  })
  const other = await rig.post('/api/chat', { model: 'gone:1b', messages, stream: false })
  assert.equal(other.status, 200)
  assert.equal(other.headers.get('x-ogw-model-fallback'), 'big:32b')
  const missing = await rig.post('/api/chat', { model: 'never:1b', messages })
  assert.equal(missing.status, 404, 'no rule, no other model')
})

// A fallback is no way around what a tenant may use.
test('the list of models is asked again for a fallback, and for what an alias means', async () => {
  await using rig = await startRig({
    workers: [{ models }],
    config: {
      aliases: { 'gpt-4o': 'big:32b' },
      fallbacks: [{ model: 'small:*', missing: ['tools'], use: 'tools:8b' }],
      tenants: [{ name: 'default', denied_models: ['tools:*', 'big:*'] }],
    },
  })
  const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
  const answer = await rig.post('/api/chat', { model: 'small:8b', messages, tools, stream: false })
  assert.equal(answer.status, 403, await answer.text())
  assert.equal(answer.headers.get('x-ogw-model-fallback'), null)
  const alias = await rig.post('/api/chat', { model: 'gpt-4o', messages, stream: false })
  assert.equal(alias.status, 403, await alias.text())
  assert.deepEqual(sentModels(rig, '/api/chat'), [])
})

test("an operator's keep_alive and num_ctx rules change the values and tell", async () => {
  await using rig = await startRig({
    workers: [{ models: [{ name: 'm:1b', context: 8192 }] }],
    config: { keep_alive: { max: '10m' }, num_ctx: { policy: 'clamp' } },
  })
  const body = { model: 'm:1b', messages, stream: false, x_new: { a: [1] } }
  const cases: { sent: unknown; arrives: unknown }[] = [
    { sent: -1, arrives: '600000ms' },
    { sent: '24h', arrives: '600000ms' },
    { sent: '5m', arrives: '5m' },
    { sent: undefined, arrives: undefined },
  ]
  for (const { sent, arrives } of cases) {
    rig.sims[0]?.record.reset()
    const answer = await rig.post('/api/chat', { keep_alive: sent, ...body })
    assert.equal(answer.headers.get('x-ogw-warning') !== null, sent !== arrives)
    const [seen] = rig.sims[0]?.record.requests({ path: '/api/chat' }) ?? []
    assert.deepEqual(JSON.parse(String(seen?.body)), {
      ...body,
      ...(arrives === undefined ? {} : { keep_alive: arrives }),
    })
  }
  rig.sims[0]?.record.reset()
  const clamped = await rig.post('/api/chat', { ...body, options: { num_ctx: 20_000, seed: 1 } })
  assert.match(clamped.headers.get('x-ogw-warning') ?? '', /num_ctx 20000 was lowered to 8192/)
  const [seen] = rig.sims[0]?.record.requests({ path: '/api/chat' }) ?? []
  assert.deepEqual(JSON.parse(String(seen?.body)).options, { num_ctx: 8192, seed: 1 })
})

// B073: in observe mode the prompt goes out, the worker cuts it to about half of its context and
// answers 200; the count gives it away.
test('a prompt that the worker cut is told to operators and in the trailer', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], defaultContext: 2048 }],
    config: { model_capabilities: { context_guard: 'observe' } },
  })
  const content = 'word '.repeat(15_000)
  const answer = await rig.post('/api/chat', {
    model: 'm:1b',
    messages: [{ role: 'user', content }],
  })
  assert.equal(answer.status, 200)
  await answer.text()
  const line = await rig.logged('prompt.truncated')
  assert.equal(line['model'], 'm:1b')
  const [event] = [line].map(({ tokens }) => Number(tokens))
  assert.ok((event ?? 0) < 2048)
})
