// Clients that send the next request before the answer to the last: one that leaves takes all of
// its requests along, and not only the one that is being answered.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startRig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const BODY = JSON.stringify({ model: 'qwen3:8b', messages: [{ role: 'user', content: 'x' }] })
const REQUEST = `POST /api/chat HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`

test('a client that leaves ends the requests that it sent ahead', async () => {
  await using rig = await startRig({ workers: [{ models: ['qwen3:8b'], slots: 4 }] })
  const [sim] = rig.sims
  assert.ok(sim !== undefined)
  await sim.faults.add({ kind: 'silent', path: '/api/chat' })
  const socket = connect(rig.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(REQUEST.repeat(3))
  const { scheduler } = rig.gateway.parts
  await until(() => scheduler.inFlight('node-1') === 3, { what: 'all three to be at the worker' })
  socket.destroy()
  await rig.quiet()
  await until(() => rig.done.length === 3, { what: 'three records' })
  assert.deepEqual(
    rig.done.map(({ outcome }) => outcome),
    ['client_gone', 'client_gone', 'client_gone'],
  )
})

test('answers to requests that were sent ahead come whole and in order', async () => {
  await using rig = await startRig({ workers: [{ models: ['qwen3:8b'], slots: 4, tokenMs: 5 }] })
  const socket = connect(rig.port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => (text += String(chunk)))
  socket.write(REQUEST.repeat(3))
  await until(() => text.split('\r\n0\r\n\r\n').length === 4, { what: 'three whole answers' })
  assert.equal(text.match(/^HTTP\/1\.1 200 OK/gm)?.length, 3)
  assert.equal(text.match(/"done":true/g)?.length, 3)
  socket.destroy()
})
