import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { AdminClient } from '../../../src/gateway/contract/client.ts'
import { socketTransport } from '../../../src/gateway/contract/transport.ts'
import { startRig } from '../../support/rig.ts'
import type { Rig } from '../../support/rig.ts'
import { until } from '../../support/until.ts'

const chat = (content: string, more: object = {}) => ({
  model: 'm:1b',
  messages: [{ role: 'user', content }],
  stream: false,
  ...more,
})
const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
const model = (capabilities: string[], more: object = {}) => ({
  name: 'm:1b',
  capabilities,
  ...more,
})
const words = (count: number): string => 'word '.repeat(count)

// B120: a model that only one worker's build runs with tools is routed there, not refused.
test('a request that needs tools goes to the worker whose model has them', async () => {
  await using rig = await startRig({
    workers: [
      { models: [model(['completion'], { digest: 'a'.repeat(64) })] },
      { models: [model(['completion', 'tools'], { digest: 'b'.repeat(64) })] },
    ],
  })
  for (let round = 0; round < 5; round += 1) {
    const answer = await rig.post('/api/chat', chat('hi', { tools }))
    assert.equal(answer.headers.get('x-ogw-worker'), 'node-2')
  }
})

test('observe lets it pass and says so; enforce refuses before a worker is asked', async () => {
  const workers = [{ models: [model(['completion'])] }]
  await using observing = await startRig({
    workers,
    config: { model_capabilities: { mode: 'observe' } },
  })
  const passed = await observing.post('/api/chat', chat('hi', { tools }))
  await passed.text()
  assert.equal(
    passed.headers.get('x-ogw-warning'),
    'm:1b does not support tools on node-1',
    'also where the worker refuses',
  )
  await observing.logged('preflight.warned', ({ model: name }) => name === 'm:1b')
  const seen = observing.sims[0]?.record.requests({ path: '/api/chat' })
  assert.equal(seen?.length, 1, 'the worker decides')
  await using enforcing = await startRig({ workers })
  const refused = await enforcing.post('/api/chat', chat('hi', { tools }))
  assert.equal(refused.status, 400)
  assert.match(await refused.text(), /does not support tools/)
  assert.deepEqual(enforcing.sims[0]?.record.requests({ path: '/api/chat' }), [])
})

// B118: no capabilities anywhere is unknown, and unknown passes; show adds a bounded wait once.
test('a worker that tells nothing of its models is not asked to', async () => {
  await using rig = await startRig({
    workers: [{ models: [model(['completion'])], version: '0.5.7' }],
  })
  const [sim] = rig.sims
  await sim?.faults.add({ kind: 'silent', path: '/api/show' })
  const begin = performance.now()
  assert.equal((await rig.post('/api/chat', chat('hi'))).status, 200)
  const first = performance.now() - begin
  assert.ok(first < 4000, `waited ${first} ms`)
  await rig.post('/api/chat', chat('hi'))
  assert.ok(performance.now() - begin - first < 900, 'nobody waits a second time')
})

// Ollama cuts a prompt that is too long without a word: the guard is the only one who says it.
test('a prompt beyond the loaded context is refused, with the numbers', async () => {
  await using rig = await startRig({
    workers: [{ models: [model(['completion'])], defaultContext: 2048 }],
  })
  await (await rig.post('/api/chat', chat('hi'))).text()
  await until(
    () =>
      rig.gateway.parts.fleet
        .workers()
        .some(({ loaded }) => loaded.state === 'known' && loaded.models.size > 0),
    {
      timeoutMs: 5000,
      what: 'the loaded context is known',
    },
  )
  const refused = await rig.post('/api/chat', chat(words(4000)))
  assert.equal(refused.status, 400)
  assert.match(await refused.text(), /too long: \d+ tokens > 2048/)
})

// Where only the guess of 4096 speaks, the truth is found out by an empty load (no prompt is sent).
test('a guess refuses nobody: the model is loaded empty and its real context decides', async () => {
  await using rig = await startRig({
    workers: [{ models: [model(['completion'])], defaultContext: 16_384 }],
  })
  const answer = await rig.post('/api/chat', chat(words(6000)))
  assert.equal(answer.status, 200, await answer.text())
  const [load] = rig.sims[0]?.record.requests({ path: '/api/generate' }) ?? []
  assert.deepEqual(JSON.parse(String(load?.body)), { model: 'm:1b' })
  const refused = await rig.post('/api/chat', chat(words(20_000)))
  assert.equal(refused.status, 400)
})

test('num_ctx has to be a positive integer within the caps', async () => {
  await using rig = await startRig({
    workers: [{ models: [model(['completion'], { context: 8192 })] }],
  })
  for (const num_ctx of [0, -1, 1.5, '4096', true, 9000, 40_000]) {
    const answer = await rig.post('/api/chat', chat('hi', { options: { num_ctx } }))
    assert.equal(answer.status, 400, String(num_ctx))
    assert.match(await answer.text(), /num_ctx/)
  }
  for (const num_ctx of [null, 4096]) {
    assert.equal((await rig.post('/api/chat', chat('hi', { options: { num_ctx } }))).status, 200)
  }
  const v1 = { model: 'm:1b', messages: [{ role: 'user', content: 'x' }], options: { num_ctx: -1 } }
  assert.equal((await rig.post('/v1/chat/completions', v1)).status, 200, '/v1 has no num_ctx')
})

// B122: however many clients ask at once, each worker is asked once per model and digest.
test('a storm of requests asks each worker once what its models can do', async () => {
  const models = Array.from({ length: 20 }, (_, at) => `m${at}:1b`)
  await using rig = await startRig({
    workers: [
      { models, slots: 4 },
      { models, slots: 4 },
    ],
  })
  await Promise.all(
    models.flatMap((name) =>
      Array.from({ length: 5 }, async () =>
        (await rig.post('/api/show', { model: name })).text(),
      ).concat(
        (async () => (await rig.post('/api/chat', { ...chat('hi'), model: name })).text())(),
      ),
    ),
  )
  for (const sim of rig.sims) {
    const asked = sim.record.requests({ path: '/api/show' }).map(({ model: name }) => name)
    assert.equal(new Set(asked).size, asked.length, 'no model twice')
  }
})

// What operators see of it: four numbers apart, and whose number a request gets.
test('operators see maximum, Modelfile and loaded context apart, and which of them speaks', async () => {
  await using rig = await startRig({
    workers: [{ models: [model(['completion'], { context: 8192 })], defaultContext: 4096 }],
    workerConfig: { context_limits: { 'm:*': 3000 } },
    config: { aliases: { 'gpt-4o': 'm:1b' }, model_capabilities: { context_guard: 'observe' } },
  })
  const admin = new AdminClient({
    transport: socketTransport([rig.gateway.parts.config().admin.socket ?? '']),
    actor: 'anna@test',
  })
  const show = async () => {
    const { context_max: most, copies } = await admin.call('models.show', { model: 'm:1b' })
    const { context_loaded: loaded, context_effective: context } = copies[0] ?? assert.fail()
    return { most, loaded, context }
  }
  const limit = 'context_limits'
  assert.deepEqual(await show(), {
    most: 8192,
    loaded: null,
    context: { tokens: 3000, source: 'guess', limit },
  })
  await (await rig.post('/api/chat', chat('hi'))).text()
  await until(async () => (await show()).loaded === 4096, {
    timeoutMs: 5000,
    what: 'the loaded context is shown',
  })
  assert.deepEqual((await show()).context, { tokens: 3000, source: 'loaded', limit })

  const explained = await admin.call('explain', { model: 'gpt-4o', ctx: 9000 })
  assert.equal(explained.model, 'm:1b')
  assert.equal(explained.asked_model, 'gpt-4o')
  assert.deepEqual(explained.judged[0]?.context, { tokens: 3000, source: 'loaded', limit })
  admin.close()
})

// B116: each change of num_ctx is a load of many seconds on a real worker.
test('clients with different num_ctx are seen as reloads, and snap ends them', async () => {
  const workers = [{ models: [model(['completion'])], defaultContext: 8192 }]
  const ask = (rig: Rig, num_ctx: number | undefined) =>
    rig.post('/api/chat', chat('hi', num_ctx === undefined ? {} : { options: { num_ctx } }))
  const loadsOf = async (config: Record<string, unknown>): Promise<number> => {
    await using rig = await startRig({ workers, config })
    const [sim] = rig.sims
    await (await ask(rig, undefined)).text()
    for (const num_ctx of [2048, 4096, undefined, 2048, 4096, undefined]) {
      await rig.gateway.parts.inventory.readNow('node-1')
      assert.equal((await ask(rig, num_ctx)).status, 200)
    }
    await rig.quiet()
    const reloads = rig.log.filter(({ event }) => event === 'model.reload').length
    const loads = sim?.events().filter(({ name }) => name === 'load-ended').length ?? 0
    const metrics = await (await fetch(`${rig.opsUrl}/metrics`)).text()
    const counted = /notices_total\{event="model.reload",[^}]*\} (\d+)/.exec(metrics)?.[1]
    assert.equal(Number(counted ?? 0), loads - 1, 'every one is counted')
    assert.equal(reloads, loads > 1 ? 1 : 0, 'and told once a minute')
    return loads
  }
  assert.equal(await loadsOf({}), 7)
  assert.equal(await loadsOf({ num_ctx: { policy: 'snap' } }), 1)
})

// B073: the head is out long before the worker's count is known; a trailer still tells the client.
test('a client that reads trailers hears there that its prompt was cut', async () => {
  await using rig = await startRig({
    workers: [{ models: [model(['completion'])], defaultContext: 2048 }],
    config: { model_capabilities: { context_guard: 'off' } },
  })
  const trailersOf = async (content: string): Promise<IncomingMessage['trailers']> => {
    const request = http.request(`${rig.url}/api/chat`, { method: 'POST', agent: false })
    request.end(JSON.stringify(chat(content, { stream: true })))
    const [answer] = (await once(request, 'response')) as [IncomingMessage]
    const text = Buffer.concat(await answer.toArray()).toString()
    assert.match(text, /"done":true.*\n$/)
    assert.equal(answer.complete, true)
    return answer.trailers
  }
  const warning = (await trailersOf(words(15_000)))['x-ogw-warning']
  assert.match(warning ?? '', /^the worker cut the prompt: it read \d+ tokens of \d+ characters$/)
  assert.deepEqual(await trailersOf('hi'), {})
})

// A prompt that is only warned of runs in the context that is loaded: nothing is loaded for it.
test('a prompt that is too long is no reload', async () => {
  await using rig = await startRig({
    workers: [{ models: [model(['completion'])], defaultContext: 2048 }],
    config: { model_capabilities: { context_guard: 'observe' } },
  })
  await (await rig.post('/api/chat', chat('hi'))).text()
  await rig.gateway.parts.inventory.readNow('node-1')
  const answer = await rig.post('/api/chat', chat(words(4000)))
  assert.match(answer.headers.get('x-ogw-warning') ?? '', /may not fit the 2048/)
  await answer.text()
  await rig.logged('preflight.warned')
  assert.ok(!rig.log.some(({ event }) => event === 'model.reload'))
})
