// Faults under load: a crowd waits, a worker fails or says that it is full, and comes back. What is
// one model's fault stays one model's, what is load is no fault, and nobody is knocked over.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECT_CASES } from '../support/dialect-cases.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'

/** A crowd keeps this process busy, and nothing here is about silence: probes have their time. */
const probe = { interval: '1s', timeout: '5s' }
const patient = { first_byte_grace: '5s', stream_idle_grace: '5s' }

interface Seen {
  status: number
  worker: string | null
  text: string
}

/** So many requests at once, in every dialect by turns. */
function crowd(rig: Rig, model: string, count: number, signals: AbortSignal[] = []) {
  return Array.from({ length: count }, async (_, place): Promise<Seen> => {
    const dialect = DIALECT_CASES[place % DIALECT_CASES.length]
    assert.ok(dialect)
    const body = { ...dialect.body(model), stream: place % 2 === 0 }
    const signal = signals[place] ?? null
    const answer = await rig.post(dialect.path, body, { signal })
    return {
      status: answer.status,
      worker: answer.headers.get('x-ogw-worker'),
      text: await answer.text(),
    }
  })
}

const inferences = (rig: Rig, index: number, model: string): number =>
  rig.sims[index]?.record
    .requests()
    .filter((seen) => seen.method === 'POST' && seen.model === model && seen.path !== '/api/show')
    .length ?? 0

/** Takes a slot with a stream that comes to a halt after its first word; aborting ends it. */
async function occupySlot(rig: Rig): Promise<AbortController> {
  await rig.sims[0]?.faults.add({ kind: 'gap', ms: 60_000, after: 1, times: 1, path: '/api/chat' })
  const leave = new AbortController()
  const body = { model: 'm:1b', messages: [{ role: 'user', content: 'hi' }] }
  const answer = await rig.post('/api/chat', body, { signal: leave.signal })
  answer.text().catch(() => {}) // the caller leaves it
  return leave
}

async function allWait(rig: Rig, count: number): Promise<void> {
  await until(() => rig.gateway.parts.scheduler.waitingCount() === count, {
    what: `${count} to wait`,
  })
}

// B010: the runner of one model dies. That model rests on that worker after one try, and every
// other model goes on there.
test('a model that does not start takes no other model with it', async () => {
  const both = { models: ['alpha:8b', 'beta:4b'], slots: 4 }
  await using rig = await startRig({
    workers: [both, { models: ['beta:4b'], slots: 4 }],
    workerConfig: { probe },
    config: { upstream: patient },
  })
  await rig.sims[0]?.faults.add({
    kind: 'status',
    status: 500,
    body: '{"error":"llama runner process has terminated: exit status 2"}',
    model: 'beta:4b',
  })
  await rig.gateway.parts.inventory.readNow('node-1')
  for (let round = 0; round < 5; round += 1) {
    for (const { status, worker, text } of await Promise.all(crowd(rig, 'beta:4b', 4))) {
      assert.equal(status, 200, text)
      assert.equal(worker, 'node-2')
    }
  }
  assert.ok(inferences(rig, 0, 'beta:4b') <= 4, 'not asked again once it had failed')
  for (const { status, worker, text } of await Promise.all(crowd(rig, 'alpha:8b', 12))) {
    assert.equal(status, 200, text)
    assert.equal(worker, 'node-1')
  }
  const worker = rig.gateway.parts.fleet.worker('node-1')
  assert.equal(worker?.health.state, 'up')
  assert.equal(worker.breaker.phase, 'closed')
  assert.deepEqual([...worker.loadCoolDowns.keys()], ['beta:4b'])
})

// The only worker's runner dies once and would be started again by the next request.
test('a model whose runner died once is back within seconds', async () => {
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b'] }],
    workerConfig: { probe },
    config: { upstream: patient },
  })
  await rig.sims[0]?.faults.add({
    kind: 'stream_error',
    path: '/api/chat',
    message: 'an error was encountered while running the model: EOF',
    after: 1,
    times: 1,
  })
  const [broken] = await Promise.all(crowd(rig, 'alpha:8b', 1))
  assert.match(broken?.text ?? '', /encountered while running/)
  const [refused] = await Promise.all(crowd(rig, 'alpha:8b', 1))
  assert.equal(refused?.status, 503)
  assert.match(refused?.text ?? '', /could not load alpha:8b; tried again in [12] s/)
  await until(
    async () => {
      const [again] = await Promise.all(crowd(rig, 'alpha:8b', 1))
      return again?.status === 200 && !again.text.includes('error')
    },
    { timeoutMs: 5_000, intervalMs: 200, what: 'alpha:8b to be served again' },
  )
})

// B019: the worker's own queue is full. That is load: its requests wait in the gateway's queue and
// are served, by it or by another, and the breaker hears nothing.
test('a worker that says it is full is waited for', { timeout: 60_000 }, async () => {
  const worker = { models: ['m:1b'], slots: 1, tokens: 5, tokenMs: 2, loadMs: 1 }
  await using rig = await startRig({
    workers: [worker],
    workerConfig: { max_concurrent: 2, probe },
    config: { upstream: patient },
  })
  const heal = await rig.sims[0]?.faults.add({
    kind: 'status',
    status: 503,
    body: '{"error":"server busy, please try again.  maximum pending requests exceeded"}',
    model: 'm:1b',
    times: 2,
  })
  for (const { status, text } of await Promise.all(crowd(rig, 'm:1b', 12))) {
    assert.equal(status, 200, text)
  }
  await heal?.()
  assert.equal(rig.gateway.parts.fleet.worker('node-1')?.breaker.phase, 'closed')
  assert.equal(rig.gateway.parts.fleet.worker('node-1')?.health.state, 'up')
  assert.ok((rig.sims[0]?.record.concurrency().high ?? 9) <= 2)
})

// Asked again at once it would say the same: a thousand times a second, for as long as it is full.
test('a worker that says it is full is not stormed', { timeout: 60_000 }, async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], tokens: 5, tokenMs: 2, loadMs: 1 }],
    workerConfig: { probe },
    config: { upstream: patient },
  })
  const body = '{"error":"server busy, please try again.  maximum pending requests exceeded"}'
  await rig.sims[0]?.faults.add({ kind: 'status', status: 503, body, path: '/api/chat', times: 2 })
  const askedAt = performance.now()
  const messages = [{ role: 'user', content: 'hi' }]
  const answer = await rig.post('/api/chat', { model: 'm:1b', messages, stream: false })
  assert.equal(answer.status, 200, await answer.text())
  assert.equal(inferences(rig, 0, 'm:1b'), 3)
  assert.ok(performance.now() - askedAt >= 1_900, 'a second of rest after each refusal')
})

// B022: thirty wait while the connections of the only worker break. Once its pause is over one of
// them tries it; the others follow that one's first byte, up to the slots.
test('after an outage one request goes first', { timeout: 60_000 }, async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], slots: 4, tokens: 4, tokenMs: 2, loadMs: 1 }],
    workerConfig: { max_concurrent: 4, probe },
    config: { upstream: { ...patient, breaker: { failures: 3, open: '1s', max_open: '2s' } } },
  })
  const [sim] = rig.sims
  assert.ok(sim)
  const { scheduler, fleet } = rig.gateway.parts
  const occupied = await Promise.all(Array.from({ length: 4 }, () => occupySlot(rig)))
  const waiting = crowd(rig, 'm:1b', 30)
  await allWait(rig, 30)
  await sim.faults.add({ kind: 'reset', on: 'request', model: 'm:1b' })
  for (const leave of occupied) leave.abort()
  await until(() => fleet.worker('node-1')?.breaker.phase === 'open', { what: 'the breaker' })
  await until(() => scheduler.inFlight('node-1') === 0, { what: 'the failed ones to be over' })
  await sim.faults.clear()
  await sim.faults.add({ kind: 'slow_headers', ms: 800, times: 1, model: 'm:1b' })
  const before = inferences(rig, 0, 'm:1b')
  await until(() => scheduler.inFlight('node-1') > 0, { what: 'the trial' })
  const trialAt = performance.now()
  while (performance.now() - trialAt < 500) {
    assert.ok(scheduler.inFlight('node-1') <= 1, 'one, until it has answered')
    assert.ok(inferences(rig, 0, 'm:1b') <= before + 1)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const seen = await Promise.all(waiting)
  assert.equal(fleet.worker('node-1')?.breaker.phase, 'closed', 'all slots are open again')
  const served = seen.filter(({ status }) => status === 200).length
  assert.ok(served >= 22, `${served} of those that had not met the outage were served`)
  for (const { status, text } of seen) {
    assert.ok([200, 502, 503].includes(status), text)
  }
  assert.ok(sim.record.concurrency().high <= 4)
})

// B030: half of a crowd leaves the queue. Not one of them reaches the worker afterwards.
test('those who left the queue never run', { timeout: 60_000 }, async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], slots: 1, tokens: 4, tokenMs: 2, loadMs: 1 }],
    workerConfig: { max_concurrent: 1, probe },
    config: { upstream: patient },
  })
  const blocker = await occupySlot(rig)
  const leaving = Array.from({ length: 40 }, () => new AbortController())
  const asked = crowd(
    rig,
    'm:1b',
    40,
    leaving.map(({ signal }) => signal),
  ).map((each) => each.catch(() => undefined))
  await allWait(rig, 40)
  for (const [place, each] of leaving.entries()) if (place % 2 === 1) each.abort()
  await allWait(rig, 20)
  const before = inferences(rig, 0, 'm:1b')
  blocker.abort()
  const seen = await Promise.all(asked)
  assert.equal(seen.filter((each) => each?.status === 200).length, 20)
  assert.equal(inferences(rig, 0, 'm:1b') - before, 20)
})
