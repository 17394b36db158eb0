import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fleet } from '../../../src/gateway/fleet/fleet.ts'
import type { FleetEvent } from '../../../src/gateway/fleet/fleet-event.ts'
import type { Installed, Worker } from '../../../src/gateway/fleet/worker.ts'
import { knownInfo } from '../../../src/gateway/fleet/model-info.ts'
import { breakerGate } from '../../../src/gateway/policy/breaker.ts'
import { compilePlacement, decidePlacement } from '../../../src/gateway/policy/placement.ts'
import { parseConfig, type WrittenWorker } from './fleet-rig.ts'

const W1 = 'http://10.0.0.1:1'

function rigOf(workers: WrittenWorker[] = [{ name: 'w1', urls: [W1] }]) {
  const time = { now: 0 }
  const told: string[] = []
  const clock = {
    now: () => 1_000_000 + time.now,
    mono: () => time.now,
    after: () => ({ cancel: () => {} }),
  }
  const config = parseConfig(workers)
  const log = { event: (name: string) => void told.push(name) }
  const deps = { clock, log, settings: () => config, bytesFlowing: () => false }
  const fleet = new Fleet(deps, config.workers)
  const w1 = (): Worker => fleet.worker('w1') ?? assert.fail('no w1')
  return { fleet, time, told, config, w1 }
}

function up(fleet: Fleet): void {
  const round = { type: 'round_ended', worker: 'w1', error: '', periodic: true } as const
  fleet.apply({
    type: 'probed',
    worker: 'w1',
    address: W1,
    result: { ok: true, ip: '10.0.0.1', version: '0.33.0' },
  })
  fleet.apply({ ...round, answered: W1 })
}

function installed(name: string, digest: string): [string, Installed] {
  const model = {
    name,
    key: name,
    digest,
    size: 1,
    details: {},
    capabilities: ['completion'],
    contextLength: 4096,
    remoteHost: undefined,
    remoteModel: undefined,
  }
  return [name, { model, modifiedAt: '' }]
}

test('listeners hear of each change once, after it, and can leave', () => {
  const { fleet, w1 } = rigOf()
  const heard: [string, boolean][] = []
  const leave = fleet.onChange((event, worker) => heard.push([event.type, worker === w1()]))
  fleet.apply({ type: 'draining', worker: 'w1', draining: true })
  fleet.apply({ type: 'draining', worker: 'w1', draining: true })
  assert.equal(fleet.revision, 1)
  fleet.apply({ type: 'draining', worker: 'gone', draining: true })
  leave()
  fleet.apply({ type: 'draining', worker: 'w1', draining: false })
  assert.deepEqual(heard, [['draining', true]])
  assert.equal(fleet.revision, 2)
})

// B010: one model that does not start says nothing about the others.
test('a failed load cools down that model until it answers or the time is over', () => {
  const { fleet, time, w1 } = rigOf()
  time.now = 100
  fleet.apply({ type: 'load_failed', worker: 'w1', model: 'beta:4b', error: 'out of memory' })
  assert.equal(w1().loadCoolDowns.get('beta:4b')?.until, 2_100)
  assert.equal(breakerGate(w1().breaker, 100), 'closed')
  fleet.apply({ type: 'answered', worker: 'w1', model: 'alpha:8b' })
  assert.equal(w1().loadCoolDowns.size, 1)
  fleet.apply({ type: 'answered', worker: 'w1', model: 'beta:4b' })
  assert.equal(w1().loadCoolDowns.size, 0)
  fleet.apply({ type: 'load_failed', worker: 'w1', model: 'beta:4b', error: 'x' })
  time.now = 32_100
  fleet.apply({ type: 'load_failed', worker: 'w1', model: 'gamma:1b', error: 'x' })
  assert.deepEqual([...w1().loadCoolDowns.keys()], ['gamma:1b'], 'what is over is forgotten')
})

// B022: the breaker opens on transport faults and one answer after its pause closes it.
test('transport faults open the breaker, a first byte after the pause closes it', () => {
  const { fleet, time, w1 } = rigOf()
  up(fleet)
  const fault: FleetEvent = { type: 'transport_fault', worker: 'w1', address: W1, error: 'reset' }
  for (let count = 0; count < 5; count += 1) fleet.apply(fault)
  assert.equal(breakerGate(w1().breaker, time.now), 'open')
  assert.equal(w1().health.state, 'up', 'the breaker is not health')
  assert.equal(w1().addresses[0]?.lastError, 'reset')
  time.now = 10_000
  assert.equal(breakerGate(w1().breaker, time.now), 'half_open')
  fleet.apply({ type: 'answered', worker: 'w1', model: 'x:1' })
  assert.equal(breakerGate(w1().breaker, time.now), 'closed')
})

test('what another digest or another version showed is forgotten', () => {
  const { fleet, w1 } = rigOf()
  up(fleet)
  const info = { digest: 'd1', capabilities: ['tools'], contextMax: 8192, modelfileNumCtx: 2048 }
  const read = (digest: string) =>
    fleet.apply({ type: 'tags_read', worker: 'w1', installed: new Map([installed('x:1', digest)]) })
  read('d1')
  assert.deepEqual(
    knownInfo(w1(), 'x:1')?.capabilities,
    ['completion'],
    'tags, until show answered',
  )
  fleet.apply({ type: 'shown', worker: 'w1', model: 'x:1', info })
  assert.equal(knownInfo(w1(), 'x:1'), info)
  read('d2')
  assert.equal(w1().info.size, 0)
  assert.deepEqual(knownInfo(w1(), 'x:1')?.capabilities, ['completion'])
  fleet.apply({ type: 'shown', worker: 'w1', model: 'x:1', info: { ...info, digest: 'd2' } })
  const result = { ok: true, ip: '10.0.0.1', version: '0.34.0' } as const
  fleet.apply({ type: 'probed', worker: 'w1', address: W1, result })
  assert.equal(w1().info.size, 0)
  assert.equal(w1().version, '0.34.0')
})

test('a reload keeps what is known, and an override over the new baseline', () => {
  const { fleet, config, told, w1 } = rigOf()
  up(fleet)
  fleet.apply({ type: 'draining', worker: 'w1', draining: true })
  const [worker] = config.workers
  assert.ok(worker)
  const denied = { mode: 'whitelist', allowed_models: [], denied_models: [] } as const
  const reload = (urls: string[]) =>
    fleet.apply({
      type: 'configured',
      workers: [
        { ...worker, urls, model_placement: { ...denied, allowed_models: [], denied_models: [] } },
      ],
    })
  const allows = (): boolean => decidePlacement(w1().placement, 'x:1', { cloud: false }).allowed
  assert.equal(allows(), true)
  reload(['http://10.0.0.9:1', W1])
  assert.equal(allows(), false, 'the new baseline holds')
  assert.equal(w1().draining, true)
  assert.equal(w1().health.state, 'up')
  assert.equal(w1().current, 1, 'the same address at its new place')
  const rules = { mode: 'allow_all', allowed_models: [], denied_models: [] } as const
  fleet.apply({
    type: 'placed',
    worker: 'w1',
    placement: compilePlacement(rules),
    layer: 'override',
  })
  reload(['http://10.0.0.9:1'])
  assert.equal(allows(), true, 'the override stays')
  assert.equal(w1().health.state, 'starting', 'its address is gone: the next round finds out')
  assert.deepEqual(told, ['worker.up'])
})

test('rates of an earlier run do not overwrite what this one learned', () => {
  const { fleet, w1 } = rigOf()
  const sample = { promptTokens: 10, promptMs: 100, outputTokens: 10, outputMs: 1000 }
  fleet.apply({ type: 'learned', worker: 'w1', model: 'x:1', sample })
  const old = { promptPerS: 1, promptSamples: 9, outputPerS: 1, outputSamples: 9, updatedAt: 1 }
  const rates = new Map([
    ['x:1', old],
    ['y:1', old],
  ])
  fleet.apply({ type: 'rates_restored', worker: 'w1', rates })
  assert.equal(w1().rates.get('x:1')?.outputPerS, 10)
  assert.equal(w1().rates.get('y:1')?.outputPerS, 1)
})
