// A worker that is to be reached elsewhere, while its old address still answers.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import { startRig } from '../support/rig.ts'
import { chatBody } from '../support/sim-client.ts'
import { until } from '../support/until.ts'

// B023: pooled sockets to the first address are still open and would still be answered. Once the
// probe has moved on, not one request takes them; a stream that runs there may finish; when the
// first address is back, the same holds for the second.
test('no pooled socket carries a request to an address that was left', async () => {
  const speed = { models: ['alpha:8b'], tokens: 40, tokenMs: 50, slots: 4 }
  await using a = await startSimulatedWorker(speed)
  await using b = await startSimulatedWorker(speed)
  await using rig = await startRig({
    workers: [{ urls: [a.url, b.url] }],
    workerConfig: { probe: { interval: '1s', timeout: '500ms', failures_to_down: 1 } },
  })
  const chat = (): Promise<Response> =>
    rig.post('/api/chat', chatBody('alpha:8b', { options: { num_predict: 2 } }))
  const sentTo = (sim: typeof a): number => sim.record.counts()['POST /api/chat'] ?? 0

  const running = await rig.post('/api/chat', chatBody('alpha:8b'))
  await Promise.all(Array.from({ length: 3 }, async () => (await chat()).text()))
  assert.equal(sentTo(a), 4)

  const heal = await a.faults.add({ kind: 'status', status: 404, path: '/api/version' })
  const current = (): number | undefined => rig.gateway.parts.fleet.worker('node-1')?.current
  await until(() => current() === 1, { timeoutMs: 3_000, what: 'the second address' })
  // Sooner than they would end for being idle: what is left is the stream, and a probe at times.
  await until(() => a.record.connections().open === 1, {
    timeoutMs: 1_000,
    what: 'the idle sockets to the first address to be closed',
  })
  for (let round = 0; round < 10; round += 1) {
    const answer = await chat()
    assert.equal(answer.status, 200)
    await answer.text()
  }
  assert.deepEqual([sentTo(a), sentTo(b)], [4, 10], 'the old address sees nothing new')
  assert.match(await running.text(), /"done":true/, 'a running stream finishes where it runs')
  await until(() => a.record.connections().open === 0, { what: 'the old sockets to end' })

  await heal()
  await until(() => current() === 0, { timeoutMs: 3_000, what: 'the first address again' })
  await (await chat()).text()
  assert.deepEqual([sentTo(a), sentTo(b)], [5, 10])
  await until(() => b.record.connections().open === 0)
})
