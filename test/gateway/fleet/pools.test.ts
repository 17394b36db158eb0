import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../../src/cli/simulator/worker.ts'
import { until } from '../../support/until.ts'
import { startFleetRig } from './fleet-rig.ts'

test('an address that is left loses its idle sockets; a running stream finishes on it', async () => {
  await using a = await startSimulatedWorker({ tokenMs: 40, tokens: 30, models: ['qwen3:8b'] })
  await using b = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [a.url, b.url] }])
  await until(() => rig.worker().current === 0)
  const pool = rig.pools.poolFor(rig.worker(), 0)
  assert.equal(rig.pools.poolFor(rig.worker(), 0), pool)
  const idle = await pool.request({ path: '/api/version', method: 'GET' })
  const body = JSON.stringify({ model: 'qwen3:8b', prompt: 'hello' })
  const stream = await pool.request({ path: '/api/generate', method: 'POST', body })
  await idle.body.dump()
  const away = await a.faults.add({ kind: 'status', status: 404, path: '/api/version' })
  await until(() => rig.worker().current === 1)
  assert.equal(pool.closed, true, 'no new request can take the old way')
  const text = await stream.body.text()
  assert.match(text, /"done":true/)
  await until(() => a.record.connections().open === 0, { what: 'its sockets to end' })
  await away()
  await until(() => rig.worker().current === 0)
  const again = rig.pools.poolFor(rig.worker(), 0)
  assert.notEqual(again, pool)
  const answer = await again.request({ path: '/api/version', method: 'GET' })
  await answer.body.dump()
  assert.equal(answer.statusCode, 200)
})

test('a changed config makes another pool, an unchanged one does not', async () => {
  await using sim = await startSimulatedWorker()
  await using rig = startFleetRig([{ name: 'w1', urls: [sim.url] }])
  await until(() => rig.worker().current === 0)
  const pool = rig.pools.poolFor(rig.worker(), 0)
  const before = sim.record.counts()['GET /api/version'] ?? 0
  await until(() => (sim.record.counts()['GET /api/version'] ?? 0) >= before + 3)
  assert.equal(rig.pools.poolFor(rig.worker(), 0), pool, 'probes that answer alike change nothing')
  const [config] = rig.config.workers
  assert.ok(config)
  const headers = { authorization: 'Bearer other' }
  rig.fleet.apply({ type: 'configured', workers: [{ ...config, headers }] })
  assert.equal(pool.closed, true)
  assert.notEqual(rig.pools.poolFor(rig.worker(), 0), pool)
})
