import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECT_CASES } from '../support/dialect-cases.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const ask = { model: 'm:1b', messages: [{ role: 'user', content: 'hi' }] }
const slow = { models: ['m:1b'], slots: 1, tokens: 400, tokenMs: 25 }
const one = { max_concurrent: 1 }

/** Fills the only slot; the answer to it runs until it is left. */
async function occupy(rig: Rig): Promise<AbortController> {
  const leave = new AbortController()
  const answer = await rig.post('/api/chat', ask, { signal: leave.signal })
  void answer.text().catch(() => {}) // we leave it ourselves
  return leave
}

async function waiting(rig: Rig, count: number): Promise<void> {
  await until(() => rig.gateway.parts.scheduler.waitingCount() === count, {
    timeoutMs: 5000,
    what: `${count} wait`,
  })
}

test('a full queue refuses with an honest Retry-After, in every dialect', async () => {
  await using rig = await startRig({
    workers: [slow],
    workerConfig: one,
    config: { admission: { max_queue: 1 } },
  })
  const leave = await occupy(rig)
  const waits = rig.post('/api/chat', ask, { signal: leave.signal }).catch(() => undefined)
  await waiting(rig, 1)
  for (const dialect of DIALECT_CASES) {
    const answer = await rig.post(dialect.path, dialect.body('m:1b'))
    const text = await answer.text()
    assert.equal(answer.status, 503, text)
    const after = Number(answer.headers.get('retry-after'))
    assert.ok(Number.isInteger(after) && after >= 1 && after <= 60, String(after))
    dialect.isError(text)
    assert.match(text, /queue is full/)
  }
  leave.abort()
  await waits
})

test('waiting has an end: max_wait, or the shorter patience of the client', async () => {
  await using rig = await startRig({
    workers: [slow],
    workerConfig: one,
    config: { admission: { max_wait: '700ms' } },
  })
  const leave = await occupy(rig)
  const begun = performance.now()
  const answer = await rig.post('/v1/chat/completions', ask)
  assert.equal(answer.status, 503)
  assert.match(await answer.text(), /became free within/)
  assert.ok(performance.now() - begun >= 650)
  const impatient = await rig.post('/v1/chat/completions', ask, {
    headers: { 'x-stainless-timeout': '0.2' },
  })
  assert.equal(impatient.status, 503)
  assert.match(await impatient.text(), /within 0\.2 s/)
  leave.abort()
})

// Absent fails at once, also for those who have waited: nobody may wait for a worker that is gone.
test('waiters are told when their last worker goes down', async () => {
  await using rig = await startRig({ workers: [slow], workerConfig: one })
  const leave = await occupy(rig)
  const others = DIALECT_CASES.slice(0, 3).map(async (dialect) => {
    const answer = await rig.post(dialect.path, dialect.body('m:1b'))
    return { answer, text: await answer.text(), dialect }
  })
  await waiting(rig, 3)
  await rig.sims[0]?.faults.add({ kind: 'refuse' })
  const begun = performance.now()
  for (const { answer, text, dialect } of await Promise.all(others)) {
    // 502 for the one that still met the worker when the running request lost it, 503 for the rest.
    assert.ok([502, 503].includes(answer.status), text)
    assert.ok(performance.now() - begun < 5000, 'not after a wait')
    dialect.isError(text)
    assert.match(text, /node-1/)
  }
  leave.abort()
})

// By a client or by an operator, in whatever phase: the slot is free and the worker stops.
for (const phase of ['waiting', 'loading', 'streaming'] as const) {
  test(`an operator cancels a request that is ${phase}`, async () => {
    await using rig = await startRig({
      workers: [{ ...slow, loadMs: phase === 'loading' ? 4000 : 5 }],
      workerConfig: one,
    })
    const { active, scheduler } = rig.gateway.parts
    const blocker = phase === 'waiting' ? await occupy(rig) : undefined
    const path = '/v1/chat/completions'
    const asked = rig.post(path, { ...ask, stream: true })
    const wanted = { waiting: 'waiting', loading: 'starting', streaming: 'streaming' }[phase]
    const found = await until(
      () => active.list().find((each) => each.path === path && each.phase === wanted),
      { timeoutMs: 5000, what: `the request is ${phase}` },
    )
    const begun = performance.now()
    assert.equal(active.cancel(found.id, 'root@test'), true)
    const answer = await asked
    const text = await answer.text()
    assert.ok(performance.now() - begun < 2000, 'at once')
    assert.match(text, /cancelled by an operator \(root@test\)/)
    if (phase === 'streaming') assert.match(text, /data: \{"error"/)
    else assert.equal(answer.status, 503)
    blocker?.abort()
    await until(() => scheduler.inFlight('node-1') === 0, {
      timeoutMs: 5000,
      what: 'no slot taken',
    })
    await rig.quiet()
    assert.equal(rig.done.filter(({ outcome }) => outcome === 'ok').length, 0)
  })
}

// B062: comments may go out while nothing else has; never inside a frame, and a failure after an
// early 200 is told inside the stream. Another worker may still take over.
test('heartbeats keep a waiting SSE client, and what follows them is whole', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], loadMs: 900 }],
    config: { admission: { heartbeat: '1s' }, upstream: { first_byte_grace: '2s' } },
    workerConfig: { max_concurrent: 1 },
  })
  await rig.sims[0]?.faults.add({ kind: 'slow_headers', ms: 2500, path: '/v1/chat/completions' })
  const text = await (await rig.post('/v1/chat/completions', { ...ask, stream: true })).text()
  assert.match(text, /^(?:: [^\n]*\n\n){2,}data: \{/, 'one each interval')
  assert.match(text, /data: \[DONE\]\n\n$/)
  const whole = await rig.post('/v1/chat/completions', { ...ask, stream: false })
  assert.match(await whole.text(), /^\{/, 'none before a whole answer')

  await rig.sims[0]?.faults.clear()
  await rig.sims[0]?.faults.add({ kind: 'slow_headers', ms: 1500, path: '/v1/messages' })
  await rig.sims[0]?.faults.add({
    kind: 'status',
    status: 500,
    body: '{"error":"option broken"}',
    path: '/v1/messages',
  })
  const answer = await rig.post('/v1/messages', { ...ask, max_tokens: 9, stream: true })
  const failed = await answer.text()
  assert.equal(answer.status, 200, 'a heartbeat had committed it')
  assert.match(failed, /event: error\ndata: .*option broken/)
  const native = await rig.post('/api/chat', ask)
  assert.ok(
    !(await native.text()).split('\n').slice(0, -1).includes(''),
    'NDJSON has no blank line',
  )
})
