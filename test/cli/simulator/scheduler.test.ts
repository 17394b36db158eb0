// What was measured on a real Ollama 0.33.0 around its scheduler. Each of these has
// cost somebody a hung request, so a gateway has to be tried against all of them.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import {
  manualClock,
  startSimulatedWorker,
  type SimEvent,
  type SimulatedWorker,
} from '../../../src/cli/simulator/worker.ts'
import { ask, chatBody, linesOf } from '../../support/sim-client.ts'
import { until } from '../../support/until.ts'

const MODELS = ['a:1b', 'b:1b', 'c:1b', { name: 'alias:1b', blob: 'a'.repeat(64) }]

/** A worker whose answers end when the test moves the clock. */
async function clocked(options: Parameters<typeof startSimulatedWorker>[0] = {}) {
  const clock = manualClock()
  const worker = await startSimulatedWorker({
    models: MODELS,
    clock,
    maxLoaded: 1,
    loadMs: 100,
    tokenMs: 10,
    tokens: 4,
    ...options,
  })
  return { clock, worker }
}

const of = (model: string) => ({ where: (event: SimEvent) => event.model === `${model}:1b` })

const chat = (worker: SimulatedWorker, model: string, more: Record<string, unknown> = {}) =>
  ask(worker.url, '/api/chat', chatBody(`${model}:1b`, more))

/** Moves the clock until the answer is there. */
async function finish<T>(clock: ReturnType<typeof manualClock>, answer: Promise<T>): Promise<T> {
  let done = false
  void answer.finally(() => (done = true)).catch(() => {})
  await until(() => {
    if (!done) clock.advance(10)
    return done
  })
  return answer
}

async function running(
  clock: ReturnType<typeof manualClock>,
  worker: SimulatedWorker,
  model: string,
) {
  const asked = chat(worker, model)
  await worker.waitFor('load-begun', of(model))
  clock.advance(100)
  await worker.waitFor('slot-taken', of(model))
  return asked
}

/** Model a answers, b waits to be loaded, and a later request for a goes past it. */
async function overtaken(
  clock: ReturnType<typeof manualClock>,
  worker: SimulatedWorker,
  more: Record<string, unknown> = {},
) {
  const first = await running(clock, worker, 'a')
  const stuck = chat(worker, 'b')
  await worker.waitFor('queued', of('b'))
  const later = chat(worker, 'a', more)
  await worker.waitFor('slot-wait', { ...of('a'), count: 2 })
  return { first, stuck, later }
}

test('a request that waits for a slot gets no byte, while the worker answers all else', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const first = await running(clock, worker, 'a')
  const second = chat(worker, 'a')
  await worker.waitFor('slot-wait', { count: 2 })
  for (const path of ['/api/version', '/api/ps', '/api/tags']) {
    assert.equal((await ask(worker.url, path).answer).status, 200)
  }
  let headers = false
  void second.headers.then(() => (headers = true))
  assert.equal(second.received(), '')
  assert.equal(headers, false)
  await finish(clock, first.answer)
  assert.equal((await finish(clock, second.answer)).status, 200)
})

test('waiters of a loaded model are served first come, first served, and never turned away', async () => {
  const { clock, worker } = await clocked({ maxQueue: 2 })
  await using _ = worker
  const first = await running(clock, worker, 'a')
  const waiting = []
  for (let count = 2; count <= 9; count += 1) {
    waiting.push(chat(worker, 'a', { stream: false }).answer)
    await worker.waitFor('slot-wait', { count })
  }
  const answers = await finish(clock, Promise.all([first.answer, ...waiting]))
  assert.ok(answers.every(({ status }) => status === 200))
  const order = worker.events().filter(({ name }) => name === 'slot-taken')
  const ids = order.map(({ requestId = 0 }) => requestId)
  assert.deepEqual(
    ids,
    ids.toSorted((a, b) => a - b),
  )
})

test('only as many requests as the queue holds wait for a load', async () => {
  const { clock, worker } = await clocked({ maxQueue: 2 })
  await using _ = worker
  const asked = Array.from({ length: 8 }, () => chat(worker, 'a', { stream: false }))
  await worker.waitFor('rejected', { count: 5 })
  const answers = await finish(clock, Promise.all(asked.map(({ answer }) => answer)))
  const refused = answers.filter(({ status }) => status === 503)
  assert.equal(refused.length, 5)
  assert.equal(
    refused[0]?.text,
    '{"error":"server busy, please try again.  maximum pending requests exceeded"}',
  )
})

test('a later request for the loaded model overtakes one that waits for a load', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const { first, stuck: other, later } = await overtaken(clock, worker)
  await finish(clock, Promise.all([first.answer, later.answer]))
  await worker.waitFor('load-begun', of('b'))
  assert.equal((await finish(clock, other.answer)).status, 200)
  const order = worker
    .events()
    .filter(({ name }) => name === 'slot-freed' || name === 'load-begun')
    .map(({ name, model }) => `${name} ${model}`)
  assert.deepEqual(order.slice(1, 4), ['slot-freed a:1b', 'slot-freed a:1b', 'load-begun b:1b'])
})

test('a keep_alive on the overtaking request leaves the load stuck, until the model is unloaded', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const { first, stuck, later } = await overtaken(clock, worker, { keep_alive: '5m' })
  await finish(clock, first.answer)
  await finish(clock, later.answer)
  await until(() => worker.scheduler.loaded()[0]?.running === 0, { what: 'the worker to be idle' })
  clock.advance(48_000)
  assert.equal(worker.scheduler.loading(), undefined)
  assert.equal(worker.scheduler.pending(), 1)
  const unload = { model: 'a:1b', keep_alive: 0 }
  assert.match(
    (await ask(worker.url, '/api/generate', unload).answer).text,
    /"done_reason":"unload"/u,
  )
  await worker.waitFor('load-begun', of('b'))
  assert.equal((await finish(clock, stuck.answer)).status, 200)
})

test('a stuck load begins when the session that was given has passed', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const { first, stuck, later } = await overtaken(clock, worker, { keep_alive: '5m' })
  await finish(clock, Promise.all([first.answer, later.answer]))
  await until(() => worker.scheduler.loaded()[0]?.running === 0)
  clock.advance(300_000)
  await worker.waitFor('load-begun', of('b'))
  assert.equal((await finish(clock, stuck.answer)).status, 200)
})

test('a client that leaves mid-stream frees its slot at once', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const first = await running(clock, worker, 'a')
  await first.headers
  const second = chat(worker, 'a', { stream: false })
  await worker.waitFor('slot-wait', { count: 2 })
  first.leave()
  const closed = await worker.waitFor('peer-closed')
  assert.equal(closed.chunk, 1)
  await worker.waitFor('slot-taken', { count: 2 })
  assert.equal((await finish(clock, second.answer)).status, 200)
})

test('a client that leaves while it waits for a slot or for a load never runs', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const first = await running(clock, worker, 'a')
  const slot = chat(worker, 'a')
  await worker.waitFor('slot-wait', { count: 2 })
  const load = chat(worker, 'b')
  await worker.waitFor('queued', of('b'))
  slot.leave()
  load.leave()
  await worker.waitFor('peer-closed', { count: 2 })
  await finish(clock, first.answer)
  const last = chat(worker, 'c', { stream: false })
  await finish(clock, last.answer)
  const taken = worker.events().filter(({ name }) => name === 'slot-taken')
  assert.deepEqual(
    taken.map(({ model }) => model),
    ['a:1b', 'c:1b'],
  )
})

test('a client that leaves during a load ends the load, whoever else waits for it', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const first = chat(worker, 'a')
  await worker.waitFor('load-begun')
  const second = chat(worker, 'a', { stream: false })
  await worker.waitFor('queued', { count: 2 })
  first.leave()
  await worker.waitFor('load-aborted')
  await worker.waitFor('load-begun', { count: 2 })
  assert.equal((await finish(clock, second.answer)).status, 200)
})

test('num_ctx reloads the model, and the next request without it reloads it back', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const contexts: number[] = []
  const requests = [
    chat(worker, 'a', { stream: false }),
    () => chat(worker, 'a', { stream: false, options: { num_ctx: 8192 } }),
    () => ask(worker.url, '/v1/chat/completions', chatBody('a:1b')),
    () => chat(worker, 'a', { stream: false, options: { num_ctx: 4096 } }),
  ]
  for (const request of requests) {
    const asked = typeof request === 'function' ? request() : request
    assert.equal((await finish(clock, asked.answer)).status, 200)
    contexts.push(worker.scheduler.loaded()[0]?.numCtx ?? 0)
  }
  assert.deepEqual(contexts, [4096, 8192, 4096, 4096])
  assert.equal(worker.events().filter(({ name }) => name === 'load-ended').length, 3)
})

test('models over the same weights share one runner', async () => {
  await using worker = await startSimulatedWorker({
    models: [
      { name: 'a:1b', blob: 'a'.repeat(64) },
      { name: 'alias:1b', blob: 'a'.repeat(64) },
    ],
  })
  await ask(worker.url, '/api/chat', chatBody('a:1b')).answer
  await ask(worker.url, '/api/chat', chatBody('alias:1b')).answer
  assert.deepEqual(
    worker.scheduler.loaded().map(({ model }) => model),
    ['a:1b'],
  )
})

test('an idle model goes when its session ends, and one with a session of its own keeps it', async () => {
  const { clock, worker } = await clocked({ maxLoaded: 3, keepAliveMs: 60_000 })
  await using _ = worker
  await finish(clock, chat(worker, 'a').answer)
  await finish(clock, chat(worker, 'b', { keep_alive: '10m' }).answer)
  await finish(clock, chat(worker, 'b').answer)
  await until(() => worker.scheduler.loaded().every(({ running: busy }) => busy === 0))
  clock.advance(61_000)
  assert.deepEqual(
    worker.scheduler.loaded().map(({ model }) => model),
    ['b:1b'],
  )
})

test('unloading a busy model lets it finish first', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const first = await running(clock, worker, 'a')
  const unloaded = await ask(worker.url, '/api/generate', { model: 'a:1b', keep_alive: 0 }).answer
  assert.equal(unloaded.status, 200)
  assert.equal(worker.scheduler.loaded().length, 1)
  const { text } = await finish(clock, first.answer)
  assert.equal(linesOf(text).at(-1)?.['done'], true)
  await worker.waitFor('unloaded')
})

test('after its runner has died a model is loaded anew', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const first = await running(clock, worker, 'a')
  await first.headers
  worker.scheduler.kill('a:1b')
  assert.deepEqual(linesOf((await first.answer).text).at(-1), {
    error: 'an error was encountered while running the model: unexpected EOF',
  })
  const second = await finish(clock, chat(worker, 'a', { stream: false }).answer)
  assert.equal(second.status, 200)
  assert.equal(worker.events().filter(({ name }) => name === 'load-begun').length, 2)
})

test('a model that is being loaded is listed by old versions only', async () => {
  for (const [version, listed] of [
    ['0.33.0', 0],
    ['0.24.0', 1],
  ] as const) {
    const { worker } = await clocked({ version })
    await using _ = worker
    const asked = chat(worker, 'a')
    await worker.waitFor('load-begun')
    const { models } = JSON.parse((await ask(worker.url, '/api/ps').answer).text) as {
      models: unknown[]
    }
    assert.equal(models.length, listed, version)
    asked.leave()
  }
})

// Go hears a client leave only when it has read the whole body, and a native
// handler stops reading at the closing brace: a newline that comes later makes it
// deaf, and the GPU works for nobody.
test('a body that goes on after its JSON makes a native route deaf to a client that leaves', async () => {
  const { clock, worker } = await clocked()
  await using _ = worker
  const body = JSON.stringify(chatBody('a:1b', { stream: false }))
  const socket = connect(worker.port, '127.0.0.1')
  socket.write(
    `POST /api/chat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`,
  )
  await until(() => worker.record.requests()[0]?.deaf, { what: 'the JSON to be read' })
  socket.write('0\r\n\r\n')
  await worker.waitFor('load-begun')
  socket.destroy()
  await worker.waitFor('peer-closed')
  assert.equal(worker.scheduler.loading(), 'a:1b')
  clock.advance(100)
  await worker.waitFor('slot-taken')
  await until(() => {
    clock.advance(10)
    return worker.events().some(({ name }) => name === 'slot-freed')
  })
})
