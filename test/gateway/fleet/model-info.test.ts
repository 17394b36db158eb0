import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSimulatedWorker, type SimulatedWorker } from '../../../src/cli/simulator/worker.ts'
import { systemClock } from '../../../src/gateway/clock.ts'
import type { Clock } from '../../../src/gateway/clock.ts'
import { ByteLru } from '../../../src/gateway/fleet/byte-lru.ts'
import { until } from '../../support/until.ts'
import { startFleetRig, type FleetRig } from './fleet-rig.ts'

const shows = (sim: SimulatedWorker): number => sim.record.counts()['POST /api/show'] ?? 0

async function rigOf(sim: SimulatedWorker, clock: Clock = systemClock): Promise<FleetRig> {
  const rig = startFleetRig([{ name: 'w1', urls: [sim.url] }], { clock })
  await until(() => rig.worker().inventory.state === 'known')
  return rig
}

// B122: ten pickers that show 150 models each are 150 requests to the worker, not 1,500.
test('a storm of shows asks the worker once per model', async () => {
  const models = Array.from({ length: 150 }, (_, index) => `m${index}:1b`)
  await using sim = await startSimulatedWorker({ models })
  await using rig = await rigOf(sim)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () =>
      Promise.all(models.map((model) => rig.infos.show(rig.worker(), model, false))),
    ),
  )
  assert.ok(answers.flat().every((answer) => answer.ok && answer.status === 200))
  await Promise.all(models.map((model) => rig.infos.ensure(rig.worker(), model)))
  await rig.infos.show(rig.worker(), 'm7:1b', false)
  assert.equal(shows(sim), 150)
  assert.equal(rig.worker().info.size, 150)
})

// Each reads the head of a large file there.
test('a worker is asked for two shows at a time', async () => {
  const models = Array.from({ length: 6 }, (_, index) => `m${index}:1b`)
  await using sim = await startSimulatedWorker({ models })
  await sim.faults.add({ kind: 'slow_headers', ms: 100, path: '/api/show' })
  await using rig = await rigOf(sim)
  const begun = performance.now()
  await Promise.all(models.map((model) => rig.infos.show(rig.worker(), model, false)))
  assert.ok(performance.now() - begun >= 290, 'three rounds')
})

test('a show is believed for cache_ttl and no longer', async () => {
  let later = 0
  const clock = { ...systemClock, mono: () => systemClock.mono() + later }
  await using sim = await startSimulatedWorker({ models: ['m:1b'] })
  await using rig = await rigOf(sim, clock)
  const ttl = rig.config.model_capabilities.cache_ttl
  for (const [passed, asked] of [
    [0, 1],
    [ttl - 10_000, 1],
    [ttl + 10_000, 2],
  ] as const) {
    later = passed
    await rig.infos.ensure(rig.worker(), 'm:1b')
    assert.equal(shows(sim), asked, `${passed} ms later`)
  }
})

// Pulled anew while the answer was on its way: it may be about the one before.
test('an answer that comes after its model has changed is not believed', async () => {
  const before = { name: 'alpha:8b', capabilities: ['completion'] }
  await using sim = await startSimulatedWorker({ models: [before] })
  await using rig = await rigOf(sim)
  await sim.faults.add({ kind: 'slow_headers', ms: 500, path: '/api/show', times: 1 })
  const late = rig.infos.ensure(rig.worker(), 'alpha:8b')
  await until(() => shows(sim) === 1)
  const digest = 'd'.repeat(64)
  sim.models.replace([{ ...before, digest }])
  await until(() => {
    const { inventory } = rig.worker()
    return inventory.state === 'known' && inventory.models.get('alpha:8b')?.model.digest === digest
  })
  await late
  await rig.infos.ensure(rig.worker(), 'alpha:8b')
  assert.equal(shows(sim), 2)
})

test('show tells what tags do not, and its body is the worker’s own', async () => {
  const spec = { name: 'qwen3:8b', parameters: { num_ctx: 1_048_576 }, context: 40_960 }
  await using sim = await startSimulatedWorker({ models: [spec] })
  await using rig = await rigOf(sim)
  assert.deepEqual(rig.infos.infoOf(rig.worker(), 'qwen3:8b')?.contextMax, 40_960, 'from tags')
  assert.equal(shows(sim), 0)
  const info = await rig.infos.ensure(rig.worker(), 'qwen3:8b')
  assert.deepEqual(info?.capabilities, ['completion', 'tools', 'thinking'])
  assert.equal(info?.modelfileNumCtx, 1_048_576)
  const body = JSON.stringify({ model: 'qwen3:8b' })
  const shown = await fetch(`${sim.url}/api/show`, { method: 'POST', body })
  const direct = JSON.parse(await shown.text())
  const cached = await rig.infos.show(rig.worker(), 'qwen3:8b', false)
  assert.ok(cached.ok)
  const lines = (text: string) => text.split('\n').toSorted()
  const got = JSON.parse(cached.body.toString())
  assert.deepEqual(lines(got.parameters), lines(direct.parameters))
  assert.equal(got.modelfile.length, direct.modelfile.length)
  const verbose = await rig.infos.show(rig.worker(), 'qwen3:8b', true)
  assert.ok(verbose.ok)
  await rig.infos.show(rig.worker(), 'qwen3:8b', true)
  assert.equal(shows(sim), 3)
})

// B120: another digest under the same name is another model.
test('a digest that changes is asked anew', async () => {
  const before = { name: 'alpha:8b', capabilities: ['completion'] }
  await using sim = await startSimulatedWorker({ models: [before] })
  await using rig = await rigOf(sim)
  await rig.infos.ensure(rig.worker(), 'alpha:8b')
  const after = { ...before, capabilities: ['completion', 'tools'], digest: 'd'.repeat(64) }
  sim.models.replace([after])
  await until(() => rig.worker().info.size === 0)
  const info = await rig.infos.ensure(rig.worker(), 'alpha:8b')
  assert.deepEqual(info?.capabilities, ['completion', 'tools'])
  assert.equal(shows(sim), 2)
})

// B118: a worker that does not say what a model can do is not asked with every request.
test('a show that fails leaves the model unknown and is not repeated at once', async () => {
  await using sim = await startSimulatedWorker({ version: '0.6.0' })
  await sim.faults.add({ kind: 'status', status: 500, path: '/api/show' })
  await using rig = await rigOf(sim)
  for (let round = 0; round < 5; round += 1) {
    assert.equal(await rig.infos.ensure(rig.worker(), 'qwen3:8b'), undefined)
  }
  assert.equal(shows(sim), 1)
})

test('an old worker’s show without capabilities is unknown, not none', async () => {
  await using sim = await startSimulatedWorker({ version: '0.6.0' })
  await using rig = await rigOf(sim)
  const info = await rig.infos.ensure(rig.worker(), 'qwen3:8b')
  assert.ok(info)
  assert.equal(info.capabilities, undefined)
})

test('a worker that is down has no show; what is known stays', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = await rigOf(sim)
  const known = await rig.infos.ensure(rig.worker(), 'qwen3:8b')
  await sim.faults.add({ kind: 'refuse' })
  await until(() => rig.worker().health.state === 'down')
  assert.equal(await rig.infos.ensure(rig.worker(), 'qwen3:8b'), known)
  assert.equal((await rig.infos.show(rig.worker(), 'qwen3:8b', false)).ok, true, 'from the cache')
  assert.equal((await rig.infos.show(rig.worker(), 'llama3.2:3b', false)).ok, false)
})

test('the bytes of bodies have a bound, and what was used last stays', () => {
  const lru = new ByteLru(10)
  lru.set('a', Buffer.alloc(4))
  lru.set('b', Buffer.alloc(4))
  assert.ok(lru.get('a'))
  lru.set('c', Buffer.alloc(4))
  assert.equal(lru.get('b'), undefined)
  assert.equal(lru.bytes, 8)
  lru.set('huge', Buffer.alloc(11))
  assert.equal(lru.get('huge'), undefined)
  lru.set('a', Buffer.alloc(1))
  assert.equal(lru.bytes, 5)
})
