// Clients that hang up: the GPU stops, the slot is back, and nobody is blamed.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { AdminClient } from '../../src/gateway/contract/client.ts'
import { socketTransport } from '../../src/gateway/contract/transport.ts'
import { STREAM_REQUESTS } from '../support/dialect-requests.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { ask, chatBody } from '../support/sim-client.ts'
import { until } from '../support/until.ts'

const slow = (): Promise<Rig> =>
  startRig({
    workers: [{ models: ['alpha:8b'], tokens: 200, tokenMs: 50, prefillMs: 100 }],
    workerConfig: { max_concurrent: 1 },
  })

// B027: at every point of a request's life the worker's connection ends soon after the client's,
// the slot is back, and what is booked is a client that left, with what had passed until then.
suite('a client that leaves stops its generation', { concurrency: true }, () => {
  for (const each of STREAM_REQUESTS) {
    test(`${each.path}, in mid-stream`, async () => {
      await using rig = await slow()
      const asked = ask(rig.url, each.path, { model: 'alpha:8b', ...each.body, stream: true })
      await until(() => chunksOf(rig) >= 3)
      asked.leave()
      const left = performance.now()
      await until(() => hungUp(rig), { what: 'the worker to see its peer leave' })
      assert.ok(performance.now() - left < 300, `${performance.now() - left} ms`)
      await rig.quiet()
      const done = await rig.logged('request.done')
      assert.equal(done['outcome'], 'client_gone')
      assert.equal(done['estimated'], true)
      assert.ok(Number(done['output_tokens']) >= 2 && Number(done['output_tokens']) < 100)
      assert.equal(rig.gateway.parts.fleet.worker('node-1')?.health.state, 'up')
    })
    test(`${each.path}, before the first byte, streamed or not`, async () => {
      await using rig = await slow()
      for (const stream of [true, false]) {
        rig.sims[0]?.record.reset()
        const asked = ask(rig.url, each.path, { model: 'alpha:8b', ...each.body, stream })
        await until(() => (rig.sims[0]?.record.requests({ path: each.path }).length ?? 0) > 0)
        asked.leave()
        await until(() => hungUp(rig), { what: 'the worker to see its peer leave' })
        await rig.quiet()
      }
    })
  }
})

// B027: one that leaves while it waits never reaches a worker.
test('a client that leaves the queue is never sent on', async () => {
  await using rig = await slow()
  const first = ask(rig.url, '/api/chat', chatBody('alpha:8b'))
  await until(() => chunksOf(rig) >= 1)
  const waiting = Array.from({ length: 5 }, () => ask(rig.url, '/api/chat', chatBody('alpha:8b')))
  const { scheduler } = rig.gateway.parts
  await until(() => scheduler.waitingCount() === 5)
  for (const one of waiting) one.leave()
  await until(() => scheduler.waitingCount() === 0)
  first.leave()
  await rig.quiet()
  assert.equal(rig.sims[0]?.record.counts()['POST /api/chat'], 1)
})

// B080: booked when the last byte has gone, not with the headers: a stream that dies later, or
// whose client leaves, is no success in the log, the metrics or the operators' list.
test('four whole, three broken, three left: the same everywhere, with whole durations', async () => {
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b'], tokens: 8, tokenMs: 20, slots: 10 }],
    workerConfig: { max_concurrent: 10 },
  })
  const [sim] = rig.sims
  const chat = () => ask(rig.url, '/api/chat', chatBody('alpha:8b'))
  const whole = await Promise.all(Array.from({ length: 4 }, () => chat().answer))
  assert.ok(whole.every(({ text }) => text.includes('"done":true')))
  await sim?.faults.add({ kind: 'cut', after: 4, how: 'rst', path: '/api/chat', times: 3 })
  await Promise.all(Array.from({ length: 3 }, () => chat().answer))
  for (let round = 0; round < 3; round += 1) {
    const asked = chat()
    await until(() => asked.received().includes('\n'))
    asked.leave()
  }
  await rig.quiet()
  const done = rig.log.filter(({ event }) => event === 'request.done')
  const expected = { ok: 4, broken: 3, client_gone: 3 }
  assert.deepEqual(counted(done.map(({ outcome }) => String(outcome))), expected)
  for (const { outcome, duration_ms: ms } of done) {
    if (outcome === 'ok')
      assert.ok(Number(ms) >= 100, `to the last byte, not the head: ${String(ms)} ms`)
  }
  const metrics = await (await fetch(`${rig.opsUrl}/metrics`)).text()
  const inMetrics: Record<string, number> = {}
  for (const [, outcome, value] of metrics.matchAll(
    /^ollama_gateway_requests_total\{[^}]*outcome="(\w+)"[^}]*\} (\d+)$/gm,
  )) {
    inMetrics[outcome ?? ''] = (inMetrics[outcome ?? ''] ?? 0) + Number(value)
  }
  assert.deepEqual(inMetrics, expected)
  const rows = await adminOf(rig).call('requests.list', {})
  assert.deepEqual(counted(rows.map(({ phase }) => phase)), { done: 4, failed: 3, cancelled: 3 })
})

const chunksOf = (rig: Rig): number =>
  rig.sims[0]?.record.requests().findLast(({ method }) => method === 'POST')?.chunks ?? 0
const hungUp = (rig: Rig): boolean =>
  rig.sims[0]?.record.requests().some(({ hungUp: at }) => at !== undefined) ?? false

function counted(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts
}

function adminOf(rig: Rig): AdminClient {
  const { socket } = rig.gateway.parts.config().admin
  return new AdminClient({ transport: socketTransport([socket ?? '']), actor: 'test' })
}
