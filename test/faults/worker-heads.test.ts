// Heads of answers that a proxy in front of a worker, or an odd worker, gives them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRawWorker } from '../support/raw-worker.ts'
import { startRig } from '../support/rig.ts'
import { ask, chatBody } from '../support/sim-client.ts'

const WHOLE =
  '{"model":"chat:1b","message":{"role":"assistant","content":"hi"},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4}\n'

/** A whole answer with the given head lines: framed as a stream, and with its length. */
function framings(headLines: string): [name: string, bytes: string][] {
  const top = `HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n${headLines}`
  const size = WHOLE.length
  return [
    [
      'a stream',
      `${top}transfer-encoding: chunked\r\n\r\n${size.toString(16)}\r\n${WHOLE}\r\n0\r\n\r\n`,
    ],
    ['a length', `${top}content-length: ${size}\r\n\r\n${WHOLE}`],
  ]
}

// A header that `Connection` names is between the worker and the gateway (RFC 9110 7.6.1): a
// client that got it would take another hop's arrangement for its own.
const NAMING = 'Connection: keep-alive, X-Hop ,x-second\r\nConnection: X-Third\r\n'
const NAMED = 'X-Hop: 1\r\nx-SECOND: 2\r\nx-third: 3\r\n'

for (const [framing, bytes] of framings(`${NAMING}${NAMED}x-end-to-end: kept\r\n`)) {
  test(`headers that Connection names stay between worker and gateway: ${framing}`, async () => {
    await using worker = await startRawWorker([{ do: 'send', bytes }])
    await using rig = await startRig({ workers: [{ url: worker.url }] })
    const { status, text, headers } = await ask(rig.url, '/api/chat', chatBody('chat:1b')).answer
    assert.deepEqual([status, text], [200, WHOLE])
    for (const name of ['x-hop', 'x-second', 'x-third'])
      assert.equal(headers[name], undefined, name)
    assert.equal(headers['x-end-to-end'], 'kept')
  })
}
