import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IDLE_SOCKET_MS } from '../../../src/gateway/fleet/pools.ts'
import { startRawWorker } from '../../support/raw-worker.ts'
import type { Step } from '../../support/raw-worker.ts'
import { startRig } from '../../support/rig.ts'

const json = (body: string): Step => ({
  do: 'send',
  bytes: `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
})

const body = { model: 'chat:1b', messages: [{ role: 'user', content: 'x' }], stream: false }

// B024: a worker closes a kept-alive socket just as the next request is written onto it. It was
// not processed, so it is sent once more on a new connection, and the client never knows.
for (const how of ['fin', 'reset'] as const) {
  test(`a request on a socket that the worker is closing (${how}) is sent again, once`, async () => {
    const answer = '{"model":"chat:1b","done":true}'
    await using worker = await startRawWorker([json(answer)], [{ do: how }], [json(answer)])
    await using rig = await startRig({ workers: [{ url: worker.url }] })
    assert.equal((await rig.post('/api/chat', body)).status, 200)
    const second = await rig.post('/api/chat', body)
    assert.equal(second.status, 200, await second.text())
    assert.equal(worker.requests.length, 3, 'sent, lost, sent again')
  })
}

// On a socket of its own nothing was stale: the worker itself breaks off, and is not asked again.
test('a reset on a fresh socket is a fault of the worker', async () => {
  await using worker = await startRawWorker([{ do: 'reset' }])
  await using rig = await startRig({ workers: [{ url: worker.url }] })
  const answer = await rig.post('/api/chat', body)
  assert.equal(answer.status, 502)
  assert.equal(worker.requests.length, 1)
})

// B024: the field's own rhythm. The worker ends idle sockets after just the time that passes
// between two requests; whichever side wins the race, no client may see it.
test('requests in the rhythm of a worker that ends idle sockets never fail', async () => {
  const idleMs = 40
  await using rig = await startRig({
    workers: [{ models: ['chat:1b', 'embed:1b'], slots: 8 }],
    workerConfig: { max_concurrent: 8 },
  })
  const [sim] = rig.sims
  await sim?.faults.add({ kind: 'idle_close', ms: idleMs })
  const ask = async (path: string, sent: object): Promise<void> => {
    for (let round = 0; round < 40; round += 1) {
      const answer = await rig.post(path, sent)
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
      assert.ok(!text.includes('"error"'), text)
      const jitter = (round % 9) - 4
      await new Promise((resolve) => setTimeout(resolve, idleMs + jitter))
    }
  }
  await Promise.all([
    ask('/api/chat', body),
    ask('/api/chat', { ...body, stream: true }),
    ask('/v1/chat/completions', { ...body, stream: true }),
    ask('/api/embed', { model: 'embed:1b', input: 'a' }),
  ])
  const connections = sim?.record.connections().opened ?? 0
  assert.ok(connections > 20, `the worker did end idle sockets: ${connections} connections`)
})

// A worker that ends its sockets sooner than the gateway's pool is safe from most of the race.
test("the pool's own idle time is shorter than any worker's", () => {
  assert.ok(IDLE_SOCKET_MS < 4_000)
})
