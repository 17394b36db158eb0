// Workers that are not there: the client is told at once, whole, and in its own dialect.

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { suite, test } from 'node:test'
import type { Fault } from '../../src/cli/simulator/worker.ts'
import { DIALECT_REQUESTS, modelFor } from '../support/dialect-requests.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const MODELS = ['alpha:8b', 'embed-x']
const PROBE = { interval: '1s', timeout: '200ms', failures_to_down: 1 }

const allDown = (rig: Rig): Promise<unknown> =>
  until(() => rig.gateway.parts.fleet.workers().every(({ health }) => health.state === 'down'), {
    what: 'every worker to be down',
  })

/** How a host can be gone: each is found out in another way. */
const GONE: readonly Fault[] = [
  { kind: 'silent' },
  { kind: 'refuse' },
  { kind: 'reset', on: 'accept' },
  { kind: 'slow_headers', ms: 60_000 },
  { kind: 'status', status: 502, body: '<html>bad gateway</html>', contentType: 'text/html' },
  { kind: 'empty' },
]

// B001, B014: no bypass when everything is known to be bad, and no time-out to wait for. The
// answer is whole, in the form its client reads, and names each worker; nothing is sent to them.
suite(
  'when every worker is down, every dialect gets its 503 at once',
  { concurrency: true },
  () => {
    for (const fault of GONE) {
      test(`${fault.kind}`, async () => {
        await using rig = await startRig({
          workers: [{ models: MODELS }, { models: MODELS }],
          workerConfig: { probe: PROBE },
        })
        for (const sim of rig.sims) await sim.faults.add(fault)
        await allDown(rig)
        const before = rig.sims.map((sim) => inferenceCount(sim.record.counts()))
        for (const each of DIALECT_REQUESTS) {
          for (const stream of each.streams ? [true, false] : [false]) {
            const started = performance.now()
            const answer = await rig.post(each.path, {
              model: modelFor(each, 'alpha:8b', 'embed-x'),
              ...each.body,
              stream,
            })
            const text = await answer.text()
            const what = `${each.path} ${text}`
            assert.ok(performance.now() - started < 1000, `at once: ${what}`)
            assert.equal(answer.status, 503, what)
            assert.match(answer.headers.get('content-type') ?? '', /^application\/json/, what)
            assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/, what)
            const message = each.messageOf(JSON.parse(text))
            assert.match(message, /node-1: .+; node-2: .+/, 'each worker and why')
          }
        }
        assert.deepEqual(
          rig.sims.map((sim) => inferenceCount(sim.record.counts())),
          before,
          'nothing was sent to a worker that is known to be down',
        )
        for (const sim of rig.sims) await sim.faults.clear()
      })
    }
  },
)

// B014, B001: the moment of the failure itself, before any probe has noticed.
suite('a worker that fails just now is told in a whole answer', { concurrency: true }, () => {
  const now: readonly { fault: Fault; status: number }[] = [
    { fault: { kind: 'refuse' }, status: 502 },
    { fault: { kind: 'reset', on: 'request' }, status: 502 },
    { fault: { kind: 'silent' }, status: 504 },
    { fault: { kind: 'silent_after_headers' }, status: 504 },
  ]
  for (const { fault, status } of now) {
    test(fault.kind, async () => {
      await using rig = await startRig({
        workers: [{ models: MODELS }],
        workerConfig: { probe: { interval: '60s', timeout: '200ms' } },
        config: { upstream: { first_byte_grace: '100ms' } },
      })
      const [sim] = rig.sims
      assert.ok(sim)
      for (const each of DIALECT_REQUESTS) {
        await until(() => rig.gateway.parts.fleet.worker('node-1')?.health.state === 'up')
        const heal = await sim.faults.add(fault)
        const answer = await rig.post(each.path, {
          model: modelFor(each, 'alpha:8b', 'embed-x'),
          ...each.body,
          stream: each.streams,
        })
        const text = await answer.text()
        assert.equal(answer.status, status, `${each.path} ${text}`)
        assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
        assert.match(each.messageOf(JSON.parse(text)), /node-1: /)
        await heal()
        await rig.gateway.parts.prober.probeNow('node-1')
      }
    })
  }
})

// Whoever reads that the only attempt failed asks next why no other worker took the request: each
// of them is named with its own reason, not only the one that was tried.
test('when the attempts fail, the workers that were not tried are named too', async () => {
  const denied = { model_placement: { denied_models: MODELS } }
  await using rig = await startRig({
    workers: [{ models: MODELS }, { models: MODELS }, { models: MODELS }, { models: ['beta:4b'] }],
    workerConfig: { probe: { interval: '60s', timeout: '200ms' } },
    perWorker: { 'node-3': denied },
  })
  const { fleet } = rig.gateway.parts
  fleet.apply({ type: 'draining', worker: 'node-2', draining: true })
  for (const each of DIALECT_REQUESTS) {
    await rig.sims[0]?.faults.add({ kind: 'reset', on: 'request', path: each.path })
    await rig.gateway.parts.prober.probeNow('node-1')
    await until(() => fleet.worker('node-1')?.health.state === 'up')
    const model = modelFor(each, 'alpha:8b', 'embed-x')
    const answer = await rig.post(each.path, { model, ...each.body })
    const text = await answer.text()
    const message = each.messageOf(JSON.parse(text))
    assert.match(message, /^every attempt .*failed: node-1: /, text)
    assert.match(message, /node-2: draining.*; node-3: blocked by .*; node-4: not installed$/, text)
    assert.equal(message.match(/node-1: /g)?.length, 1, text)
  }
})

// B001: the other half of the rule. One that is only busy is waited for: nobody calls it absent.
test('a busy worker is waited for, however long its silence', async () => {
  await using rig = await startRig({ workers: [{ models: MODELS }] })
  await rig.sims[0]?.faults.add({ kind: 'slow_headers', ms: 1_500, path: '/api/chat', times: 1 })
  const answer = await rig.post('/api/chat', {
    model: 'alpha:8b',
    messages: [{ role: 'user', content: 'x' }],
  })
  assert.equal(answer.status, 200)
  assert.match(await answer.text(), /"done":true/)
  assert.equal(rig.sims[0]?.record.counts()['POST /api/chat'], 1)
})

// B110: one unreachable worker must not hold up a list, warm or just started. A server that
// accepts and never answers stands for the black hole: a SYN that is dropped is the same wait.
test('lists come at once beside a black hole, also at the first moment of a start', async () => {
  await using hole = await startHole()
  await using rig = await startRig({
    workers: [
      { models: ['alpha:8b'] },
      { models: ['beta:4b'] },
      { url: `http://127.0.0.1:${hole.port}` },
      // Not routable: TEST-NET-1 drops what is sent to it, or says so at once.
      { url: 'http://192.0.2.1:11434' },
    ],
    workerConfig: { probe: { interval: '1s', timeout: '3s' } },
    ready: false,
  })
  const timed = async (path: string): Promise<{ ms: number; body: string }> => {
    const started = performance.now()
    const answer = await fetch(rig.url + path)
    assert.equal(answer.status, 200)
    return { body: await answer.text(), ms: performance.now() - started }
  }
  for (const path of LISTS) {
    const { ms } = await timed(path)
    assert.ok(ms < 1_000, `${path} took ${ms} ms while nothing was known yet`)
  }
  await until(async () => /alpha.*beta|beta.*alpha/s.test((await timed('/api/tags')).body))
  assert.equal(
    rig.gateway.parts.fleet.worker('node-3')?.health.state,
    'starting',
    'the lists were whole while the black hole was still being waited for',
  )
  const times: number[] = []
  for (let round = 0; round < 50; round += 1) {
    for (const path of LISTS) times.push((await timed(path)).ms)
  }
  times.sort((a, b) => a - b)
  assert.ok((times[Math.floor(times.length / 2)] ?? Infinity) < 100, `median ${times[100]} ms`)
})

const LISTS = ['/v1/models', '/api/tags', '/api/ps', '/api/version']

const inferenceCount = (counts: Readonly<Record<string, number>>): number =>
  Object.entries(counts).reduce(
    (sum, [what, times]) =>
      /^POST \/(?:v1|api\/(?:chat|generate|embed))/.test(what) ? sum + times : sum,
    0,
  )

async function startHole(): Promise<AsyncDisposable & { port: number }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => void sockets.add(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
