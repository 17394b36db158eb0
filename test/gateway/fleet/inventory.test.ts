import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../../src/cli/simulator/worker.ts'
import type { FleetEvent } from '../../../src/gateway/fleet/fleet-event.ts'
import type { Installed } from '../../../src/gateway/fleet/worker.ts'
import { until } from '../../support/until.ts'
import { startFleetRig, type FleetRig } from './fleet-rig.ts'

function installed(rig: FleetRig, worker = 'w1'): ReadonlyMap<string, Installed> {
  const { inventory } = rig.worker(worker)
  return inventory.state === 'known' ? inventory.models : new Map()
}

test('what is installed and loaded is known, each with its age', async () => {
  await using sim = await startSimulatedWorker({
    models: [
      'Qwen3:8b',
      {
        name: 'gpt-oss:120b-cloud',
        remote: { model: 'gpt-oss:120b', host: 'https://ollama.com:443' },
      },
    ],
  })
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }])
  assert.equal(rig.worker().inventory.state, 'unknown', 'never read is not empty')
  await until(() => installed(rig).size === 2)
  const { model } = installed(rig).get('qwen3:8b') ?? assert.fail('no qwen3')
  assert.equal(model.name, 'Qwen3:8b', 'the worker’s own spelling')
  assert.deepEqual(model.capabilities, ['completion', 'tools', 'thinking'])
  assert.ok((model.contextLength ?? 0) > 0)
  assert.equal(model.digest.length, 64)
  assert.equal(installed(rig).get('gpt-oss:120b-cloud')?.model.remoteHost, 'https://ollama.com:443')

  const body = JSON.stringify({ model: 'qwen3:8b', keep_alive: -1 })
  await (await fetch(`${sim.url}/api/generate`, { method: 'POST', body })).text()
  const loaded = await until(() => {
    const { loaded } = rig.worker()
    return loaded.state === 'known' && loaded.models.get('qwen3:8b')
  })
  assert.equal(loaded.contextLength, 4096)
  assert.equal(loaded.sizeVram, loaded.size)
})

test('a failed reading keeps the answer before it and says why', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }])
  await until(() => installed(rig).size === 3)
  const back = await sim.faults.add({ kind: 'status', status: 500, path: '/api/tags' })
  await until(() => rig.worker().inventory.error === 'answered 500')
  assert.equal(installed(rig).size, 3)
  assert.equal(rig.worker().health.state, 'up', 'tags are no liveness')
  await back()
  const html = { contentType: 'text/html', body: '<html>' }
  const page = await sim.faults.add({ kind: 'status', status: 200, path: '/api/tags', ...html })
  await until(() => rig.worker().inventory.error === 'the answer is not a list of models')
  assert.equal(installed(rig).size, 3)
  await page()
  await until(() => rig.worker().inventory.error === undefined)
  // B109: what a healthy answer no longer lists is gone, without a warning.
  sim.models.remove('all-minilm:latest')
  await until(() => installed(rig).size === 2)
})

test('a body that has not changed is not read again', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }])
  await until(() => installed(rig).size === 3)
  const models = installed(rig)
  const events: FleetEvent[] = []
  rig.fleet.onChange((event) => void (event.type === 'tags_read' && events.push(event)))
  const { readAt } = rig.worker().inventory.state === 'known' ? knownOf(rig) : assert.fail()
  await until(() => events.length >= 3)
  assert.ok(events.every((event) => event.type === 'tags_read' && event.installed === undefined))
  assert.equal(installed(rig), models)
  assert.ok(knownOf(rig).readAt > readAt, 'its age is that of the newest answer')
})

function knownOf(rig: FleetRig) {
  const { inventory } = rig.worker()
  assert.ok(inventory.state === 'known')
  return inventory
}

test('a worker that comes back is read at once', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }], {
    inventoryInterval: 3_600_000,
  })
  await until(() => installed(rig).size === 3)
  const back = await sim.faults.add({ kind: 'refuse' })
  await until(() => rig.worker().health.state === 'down')
  assert.equal(installed(rig).size, 3, 'a down worker keeps what is known of it')
  sim.models.remove('all-minilm:latest')
  await back()
  await until(() => installed(rig).size === 2)
})

// B011: deleted behind the gateway's back, one replica has lost the model.
// Until it is known to be loaded there, the next requests for it would go and load it elsewhere.
test('a model that has answered is known to be loaded at once', async () => {
  await using sim = await startSimulatedWorker({ models: ['m:1b'], loadMs: 1 })
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }], {
    inventoryInterval: 3_600_000,
  })
  const loaded = (): number | undefined => {
    const { loaded: known } = rig.worker()
    return known.state === 'known' ? known.models.size : undefined
  }
  await until(() => loaded() === 0 && installed(rig).size === 1)
  const body = JSON.stringify({ model: 'm:1b', prompt: 'x' })
  await (await fetch(`${sim.url}/api/generate`, { method: 'POST', body })).text()
  rig.inventory.modelAnswered('w1', 'm:1b')
  await until(() => loaded() === 1)
})

test('a model that the worker says is missing is gone at once, and the list is read again', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }], {
    inventoryInterval: 3_600_000,
  })
  await until(() => installed(rig).size === 3)
  sim.models.remove('qwen3:8b')
  rig.fleet.apply({ type: 'model_missing', worker: 'w1', model: 'qwen3:8b' })
  assert.equal(installed(rig).has('qwen3:8b'), false)
  await until(() => sim.record.counts()['GET /api/tags'] === 2)
  // The list may say otherwise: then it is believed, although its bytes are the same as before.
  rig.fleet.apply({ type: 'model_missing', worker: 'w1', model: 'llama3.2:3b' })
  assert.equal(installed(rig).size, 1)
  await until(() => installed(rig).size === 2)
})

test('with probes off lists are read only when somebody asks', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url], probe: { interval: 'off' } }])
  await rig.prober.firstRoundDone
  assert.deepEqual(sim.record.counts(), {})
  await rig.inventory.readNow('w1')
  assert.equal(installed(rig).size, 3)
  assert.deepEqual(sim.record.counts(), { 'GET /api/tags': 1, 'GET /api/ps': 1 })
})

test('equal models of many workers are one object', async () => {
  await using a = await startSimulatedWorker()
  await using b = await startSimulatedWorker({ models: ['qwen3:8b', 'phi4:14b'] })
  await using rig = startFleetRig([
    { name: 'w1', urls: [a.url] },
    { name: 'w2', urls: [b.url] },
  ])
  await until(() => installed(rig).size === 3 && installed(rig, 'w2').size === 2)
  const one = installed(rig).get('qwen3:8b')?.model
  assert.ok(one)
  assert.equal(one, installed(rig, 'w2').get('qwen3:8b')?.model)
})
