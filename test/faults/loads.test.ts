import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import { startRig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const chat = (model: string, more: object = {}) => ({
  model,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})

// A load of many graces is busy, not absent: one attempt, no probe takes the worker down, the
// breaker hears nothing.
test('a slow load is waited for on its own worker', async () => {
  const worker = { models: ['m:70b'], loadMs: 1500 }
  await using rig = await startRig({ workers: [worker, worker] })
  const answer = await rig.post('/api/chat', chat('m:70b', { stream: false }))
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('x-ogw-attempts'), '1')
  const asked = rig.sims.map((sim) => sim.record.requests({ path: '/api/chat' }).length)
  assert.deepEqual(
    asked.toSorted((a, b) => a - b),
    [0, 1],
  )
  assert.equal(
    rig.log.find(({ event }) => event === 'worker.down'),
    undefined,
  )
  for (const { breaker } of rig.gateway.parts.fleet.workers()) assert.equal(breaker.phase, 'closed')
})

// Whatever becomes of /api/ps, a model that answers is loaded: nobody is kept waiting for its load.
test('a load is over with the first byte of its answer', async () => {
  await using sim = await startSimulatedWorker({ models: ['a:1b', 'b:1b'], loadMs: 1, slots: 2 })
  await sim.faults.add({ kind: 'status', status: 500, path: '/api/ps' })
  await sim.faults.add({ kind: 'gap', ms: 60_000, after: 1, times: 1, path: '/api/chat' })
  await using rig = await startRig({
    workers: [{ url: sim.url }],
    workerConfig: { max_concurrent: 2 },
  })
  const leave = new AbortController()
  const running = await rig.post('/api/chat', chat('a:1b'), { signal: leave.signal })
  running.text().catch(() => {}) // left below
  const soon = AbortSignal.timeout(5_000)
  try {
    const other = await rig.post('/api/chat', chat('b:1b', { stream: false }), { signal: soon })
    assert.equal(other.status, 200, await other.text())
  } finally {
    leave.abort()
  }
})

// A real Ollama ends a load together with the request that caused it, and the next waiter starts
// from zero. While others wait for that load, the one whose client left is kept up.
test('a load goes on for the others when the client that caused it leaves', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:70b'], loadMs: 1200, slots: 2 }],
    workerConfig: { max_concurrent: 1 },
  })
  const [sim] = rig.sims
  assert.ok(sim)
  const leave = new AbortController()
  const first = rig
    .post('/api/chat', chat('m:70b'), { signal: leave.signal })
    .catch(() => undefined)
  await sim.waitFor('load-begun')
  const second = rig.post('/api/chat', chat('m:70b', { stream: false }))
  await until(() => rig.gateway.parts.scheduler.waitingCount() === 1, {
    timeoutMs: 5000,
    what: 'the second one waits',
  })
  leave.abort()
  await first
  const answer = await second
  assert.equal(answer.status, 200)
  assert.deepEqual(
    sim.events().filter(({ name }) => name === 'load-aborted'),
    [],
  )
  assert.equal(sim.events().filter(({ name }) => name === 'load-begun').length, 1, 'one load')
})

test('a load that others waited for ends with the last of them', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:70b'], loadMs: 60_000, slots: 2 }],
    workerConfig: { max_concurrent: 1 },
  })
  const { active, scheduler } = rig.gateway.parts
  const leave = [new AbortController(), new AbortController()] as const
  const send = ({ signal }: AbortController) =>
    rig.post('/api/chat', chat('m:70b'), { signal }).catch(() => undefined)
  const first = send(leave[0])
  await rig.sims[0]?.waitFor('load-begun')
  const second = send(leave[1])
  await until(() => scheduler.waitingCount() === 1, { what: 'the second one waits' })
  leave[0].abort()
  await first
  await until(() => active.list().some(({ signal }) => signal.aborted), { what: 'it is noticed' })
  assert.equal(scheduler.inFlight('node-1'), 1, 'kept for the second one')
  leave[1].abort()
  await second
  await rig.sims[0]?.waitFor('load-aborted')
  await rig.quiet()
})

// Kept up for its load alone: what it would say nobody reads.
test('a request that was kept for its load ends with the load', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:70b'], loadMs: 600, slots: 1, tokens: 2_000, tokenMs: 25 }],
    workerConfig: { max_concurrent: 1 },
  })
  const leave = new AbortController()
  const first = rig
    .post('/api/chat', chat('m:70b'), { signal: leave.signal })
    .catch(() => undefined)
  await rig.sims[0]?.waitFor('load-begun')
  const short = { stream: false, options: { num_predict: 2 } }
  const signal = AbortSignal.timeout(10_000)
  const second = rig.post('/api/chat', chat('m:70b', short), { signal })
  await until(() => rig.gateway.parts.scheduler.waitingCount() === 1, { what: 'the second waits' })
  leave.abort()
  await first
  assert.equal((await second).status, 200)
})

for (const who of ['the client of a loaded model', 'an operator'] as const) {
  test(`nothing is kept up when ${who} ends it, whoever else waits`, async () => {
    const loads = who === 'an operator'
    await using rig = await startRig({
      workers: [
        { models: ['m:70b'], slots: 2, loadMs: loads ? 60_000 : 1, prefillMs: loads ? 1 : 60_000 },
      ],
      workerConfig: { max_concurrent: 1 },
    })
    const { active, inventory, scheduler } = rig.gateway.parts
    const [sim] = rig.sims
    assert.ok(sim)
    if (!loads) {
      await rig.post('/api/generate', { model: 'm:70b' })
      await inventory.readNow('node-1')
    }
    const leave = [new AbortController(), new AbortController()] as const
    const send = ({ signal }: AbortController) =>
      rig.post('/api/chat', chat('m:70b'), { signal }).catch(() => undefined)
    const first = send(leave[0])
    const atWorker = (): number => sim.record.requests({ path: '/api/chat' }).length
    await until(() => atWorker() === 1, { what: 'the first one is sent' })
    const second = send(leave[1])
    await until(() => scheduler.waitingCount() === 1, { what: 'the second one waits' })
    const [running] = active.list()
    assert.ok(running)
    if (loads) active.cancel(running.id, 'root@test')
    else leave[0].abort()
    await first
    await until(() => atWorker() === 2, { timeoutMs: 3_000, what: 'the second one has the slot' })
    leave[1].abort()
    await second
    await rig.quiet()
  })
}

// The same where the load comes first, because the prompt may be too long for what is guessed.
test('an empty load goes on for the others too', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:70b'], loadMs: 1200, slots: 2, defaultContext: 16_384 }],
    workerConfig: { max_concurrent: 1 },
  })
  const [sim] = rig.sims
  assert.ok(sim)
  const leave = new AbortController()
  const long = [{ role: 'user', content: 'word '.repeat(6_000) }]
  const first = rig
    .post('/api/chat', chat('m:70b', { messages: long }), { signal: leave.signal })
    .catch(() => undefined)
  await sim.waitFor('load-begun')
  assert.deepEqual(sim.record.requests({ path: '/api/chat' }), [])
  const second = rig.post('/api/chat', chat('m:70b', { stream: false }))
  await until(() => rig.gateway.parts.scheduler.waitingCount() === 1, {
    timeoutMs: 5000,
    what: 'the second one waits',
  })
  leave.abort()
  await first
  assert.equal((await second).status, 200)
  const loads = sim.events().filter(({ name }) => name.startsWith('load-'))
  assert.deepEqual(
    loads.map(({ name }) => name).filter((name) => name === 'load-aborted'),
    [],
  )
  assert.equal(loads.filter(({ name }) => name === 'load-begun').length, 1, 'one load')
})

test('a load that nobody waits for ends with its client', async () => {
  await using rig = await startRig({ workers: [{ models: ['m:70b'], loadMs: 5000 }] })
  const [sim] = rig.sims
  const leave = new AbortController()
  const first = rig
    .post('/api/chat', chat('m:70b'), { signal: leave.signal })
    .catch(() => undefined)
  await sim?.waitFor('load-begun')
  leave.abort()
  await first
  await sim?.waitFor('load-aborted')
})

// transcripts/README.md: a request with an explicit keep_alive that overtakes a waiting load keeps
// the loaded model for minutes, and the load is stuck on an idle worker. The gateway sends no such
// request while a load is pending, so the load begins as soon as the worker is idle.
test('a pending load is not kept from beginning by keep_alive of the loaded model', async () => {
  await using rig = await startRig({
    workers: [
      { models: ['a:1b', 'b:1b'], maxLoaded: 1, slots: 1, tokens: 20, tokenMs: 20, loadMs: 20 },
    ],
    workerConfig: { max_concurrent: 4 },
  })
  await (await rig.post('/api/chat', chat('a:1b', { stream: false }))).text()
  await rig.gateway.parts.inventory.readNow('node-1')
  const running = rig.post('/api/chat', chat('a:1b', { stream: false }))
  await until(() => rig.gateway.parts.scheduler.inFlight('node-1') === 1, {
    timeoutMs: 5000,
    what: 'a:1b runs',
  })
  const other = rig.post('/api/chat', chat('b:1b', { stream: false }))
  const overtaking = rig.post('/api/chat', chat('a:1b', { stream: false, keep_alive: '5m' }))
  const answers = await Promise.all([running, other, overtaking])
  for (const answer of answers) assert.equal(answer.status, 200, await answer.text())
})

// Somebody else may leave a load stuck that the gateway's request waits behind: it is freed by an
// unload of the idle model that blocks it, and told.
test('a load that is stuck on an idle worker is freed', { timeout: 60_000 }, async () => {
  await using rig = await startRig({
    workers: [
      { models: ['a:1b', 'b:1b'], maxLoaded: 1, slots: 1, tokens: 10, tokenMs: 30, loadMs: 20 },
    ],
  })
  const [sim] = rig.sims
  assert.ok(sim)
  const direct = (body: object) =>
    fetch(`${sim.url}/api/chat`, { method: 'POST', body: JSON.stringify(body) })
  await (await direct(chat('a:1b', { stream: false }))).text()
  await rig.gateway.parts.inventory.readNow('node-1')
  const busy = direct(chat('a:1b', { stream: false }))
  await sim.waitFor('slot-taken')
  const ours = rig.post('/api/chat', chat('b:1b', { stream: false }))
  await until(() => sim.scheduler.pending() > 0, { timeoutMs: 5000, what: 'the load waits' })
  // A client that goes past the gateway does what the gateway never does.
  await (await direct(chat('a:1b', { stream: false, keep_alive: '5m' }))).text()
  await (await busy).text()
  const answer = await ours
  assert.equal(answer.status, 200, await answer.text())
  await rig.logged('load.stuck')
})
