// `ollama stop`, eject buttons and warm-ups: inference routes without work.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startRig } from '../../support/rig.ts'
import type { Rig } from '../../support/rig.ts'
import { ask, chatBody } from '../../support/sim-client.ts'
import { until } from '../../support/until.ts'

const three = async (): Promise<Rig> => {
  const models = ['alpha:8b', 'beta:4b']
  const rig = await startRig({
    workers: [{ models }, { models }, { models }],
    workerConfig: { max_concurrent: 1 },
  })
  for (const sim of rig.sims.slice(1)) await ask(sim.url, '/api/chat', chatBody('alpha:8b')).answer
  const loaded = (name: string): boolean => {
    const known = rig.gateway.parts.fleet.worker(name)?.loaded
    return known?.state === 'known' && known.models.size === 1
  }
  await until(() => loaded('node-2') && loaded('node-3'), { what: 'ps to say what is loaded' })
  for (const sim of rig.sims) sim.record.reset()
  return rig
}

const loadedOn = (rig: Rig): number[] => rig.sims.map((sim) => sim.scheduler.loaded().length)

/** The spellings of "unload" that clients send. */
const UNLOADS: readonly { path: string; body: Record<string, unknown> }[] = [
  { path: '/api/generate', body: { keep_alive: 0 } },
  { path: '/api/generate', body: { keep_alive: '0s', prompt: '' } },
  { path: '/api/generate', body: { keep_alive: 0.0, stream: false } },
  { path: '/api/chat', body: { messages: [], keep_alive: 0 } },
  { path: '/api/chat', body: { keep_alive: '0', stream: false } },
]

// B113: it goes to every worker that has the model loaded, to no other, and past the queue: an
// unload that waits behind chats, or that loads the model somewhere to unload it, is none.
suite(
  'an unload reaches those that have the model loaded, and nobody else',
  { concurrency: true },
  () => {
    for (const { path, body } of UNLOADS) {
      test(`${path} ${JSON.stringify(body)}`, async () => {
        await using rig = await three()
        assert.deepEqual(loadedOn(rig), [0, 1, 1])
        const answer = await rig.post(path, { model: 'alpha:8b', ...body })
        const text = await answer.text()
        assert.equal(answer.status, 200, text)
        assert.match(text, /"done":true,"done_reason":"unload"/)
        await until(() => loadedOn(rig).every((count) => count === 0), { what: 'the models to go' })
        const asked = rig.sims.map(
          (sim) =>
            Object.entries(sim.record.counts()).filter(([what]) => what.startsWith('POST')).length,
        )
        assert.deepEqual(asked, [0, 1, 1])
      })
    }
  },
)

test('an unload does not wait behind those who do', async () => {
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b', 'beta:4b'], tokens: 40, tokenMs: 50 }],
    workerConfig: { max_concurrent: 1 },
    config: { inventory: { ps_interval: '1s' } },
  })
  const running = ask(rig.url, '/api/chat', chatBody('alpha:8b'))
  await until(() => running.received() !== '')
  const waiting = Array.from({ length: 20 }, () => ask(rig.url, '/api/chat', chatBody('beta:4b')))
  await until(() => rig.gateway.parts.scheduler.waitingCount() === 20)
  const started = performance.now()
  const answer = await rig.post('/api/generate', { model: 'alpha:8b', keep_alive: 0 })
  assert.equal(answer.status, 200, await answer.text())
  assert.ok(performance.now() - started < 1_500)
  for (const one of [running, ...waiting]) one.leave()
})

test('an unload of what nobody has loaded succeeds and wakes nobody; of what nobody has is a 404', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  const idle = await rig.post('/api/generate', { model: 'alpha:8b', keep_alive: 0 })
  assert.equal(idle.status, 200)
  assert.match(await idle.text(), /"done_reason":"unload"/)
  assert.equal(rig.sims[0]?.record.counts()['POST /api/generate'], undefined)
  const unknown = await rig.post('/api/generate', { model: 'nobody:1b', keep_alive: 0 })
  assert.equal(unknown.status, 404)
  assert.deepEqual(await unknown.json(), { error: "model 'nobody:1b' not found" })
})

// B113: a preload is a load: the next one finds the model where the first has put it, long before
// the next periodic reading of ps. It is booked as no inference and teaches no rate.
test('a preload loads the model once, and counts as a load', async () => {
  const sim = { models: ['alpha:8b'], slots: 4 }
  await using rig = await startRig({
    workers: [sim, sim, sim],
    config: { inventory: { tags_interval: '1h', ps_interval: '1h' } },
  })
  const { fleet } = rig.gateway.parts
  const knownAsLoaded = (): boolean =>
    fleet.workers().some(({ loaded }) => loaded.state === 'known' && loaded.models.has('alpha:8b'))
  for (const [path, body] of [
    ['/api/generate', { keep_alive: '10m' }],
    ['/api/chat', { messages: [], keep_alive: '10m' }],
    ['/api/generate', {}],
  ] as const) {
    const answer = await rig.post(path, { model: 'alpha:8b', ...body })
    assert.match(await answer.text(), /"done_reason":"load"/)
    await until(knownAsLoaded, { what: 'ps to be read because a model has answered' })
  }
  await rig.quiet()
  assert.equal(
    loadedOn(rig).reduce((sum, count) => sum + count, 0),
    1,
  )
  for (const worker of fleet.workers()) assert.equal(worker.rates.size, 0)
  for (const { event, output_tokens } of rig.log) {
    if (event === 'request.done') assert.equal(output_tokens, 0)
  }
})

// A worker whose ps never lists what it runs is not asked with each of its answers.
test('answers of a model that ps does not list ask for it within a bound', async () => {
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b'] }],
    config: { inventory: { tags_interval: '1h', ps_interval: '1h' } },
  })
  const [sim] = rig.sims
  await sim?.faults.add({ kind: 'status', status: 200, body: '{"models":[]}', path: '/api/ps' })
  const before = sim?.record.counts()['GET /api/ps'] ?? 0
  const started = performance.now()
  for (let round = 0; round < 40; round += 1) {
    await (await rig.post('/api/chat', chatBody('alpha:8b'))).text()
  }
  const most = 1 + Math.ceil((performance.now() - started) / 500)
  const asked = (sim?.record.counts()['GET /api/ps'] ?? 0) - before
  assert.ok(asked >= 1 && asked <= most, `${asked} readings`)
})
