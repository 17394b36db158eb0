import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../support/rig.ts'

const ask = { model: 'm:1b', messages: [{ role: 'user', content: 'hi' }], stream: false }
const worker = { models: ['m:1b'], slots: 1, loadMs: 1, tokens: 2 }

// B005: slow is not rate limited. What was given up once is tried again with the next request, and
// nothing climbs from seconds to hours.
test('two answers that came too late leave nothing behind', async () => {
  await using rig = await startRig({
    workers: [worker],
    config: { upstream: { first_byte_grace: '200ms', first_byte_timeout: '1s' } },
  })
  await rig.sims[0]?.faults.add({ kind: 'slow_headers', ms: 4000, times: 2, path: '/api/chat' })
  for (let round = 0; round < 2; round += 1) {
    const late = await rig.post('/api/chat', ask)
    assert.equal(late.status, 504)
    assert.match(await late.text(), /first byte/)
  }
  for (let round = 0; round < 3; round += 1) {
    assert.equal((await rig.post('/api/chat', ask)).status, 200)
  }
  const [state] = rig.gateway.parts.fleet.workers()
  assert.equal(state?.breaker.phase, 'closed')
  assert.equal(state?.health.state, 'up')
})

// B033: the first target stalls and the second fails too; both slots come back.
test('slots of every target of a failed request come back', async () => {
  await using rig = await startRig({
    workers: [worker, worker],
    workerConfig: { max_concurrent: 1 },
  })
  const [first, second] = rig.sims
  await first?.faults.add({ kind: 'silent' })
  await second?.faults.add({ kind: 'status', status: 502, body: '<html>', path: '/api/chat' })
  const failed = await Promise.all(Array.from({ length: 5 }, () => rig.post('/api/chat', ask)))
  for (const answer of failed) assert.ok([502, 503, 504].includes(answer.status))
  await rig.quiet()
  await Promise.all(rig.sims.map((sim) => sim.faults.clear()))
  const { prober, inventory } = rig.gateway.parts
  for (const name of ['node-1', 'node-2']) {
    await prober.probeNow(name)
    await inventory.readNow(name)
  }
  for (const sim of rig.sims) {
    sim.record.reset()
    sim.set({ tokens: 40, tokenMs: 10 })
  }
  const both = await Promise.all([rig.post('/api/chat', ask), rig.post('/api/chat', ask)])
  for (const answer of both) assert.equal(answer.status, 200)
  for (const sim of rig.sims) {
    assert.equal(sim.record.requests({ path: '/api/chat' }).length, 1, 'each serves one at once')
    assert.equal(sim.record.concurrency().high, 1)
  }
})

// B041: a request that waited for its slot has all of its patience for the worker still.
test('time in the queue is not taken from the time for the first byte', async () => {
  await using rig = await startRig({
    workers: [{ ...worker, tokens: 60, tokenMs: 25 }],
    workerConfig: { max_concurrent: 1 },
    config: { upstream: { first_byte_grace: '300ms', first_byte_timeout: '2500ms' } },
  })
  const answers = await Promise.all(Array.from({ length: 3 }, () => rig.post('/api/chat', ask)))
  for (const answer of answers) assert.equal(answer.status, 200, await answer.text())
  await rig.quiet()
  const waited = rig.done.map((record) => Number(Reflect.get(record, 'queue_ms')))
  assert.ok(Math.max(...waited) > 2500, `the last one waited ${Math.max(...waited)} ms`)
})
