import assert from 'node:assert/strict'
import { test } from 'node:test'
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
