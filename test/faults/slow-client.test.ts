// Clients that stop reading: bounded memory, a worker that is never paused, a slot that comes back.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { test } from 'node:test'
import { startRig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024
const LINE = Buffer.from(
  `${JSON.stringify({ model: 'chat:1b', message: { role: 'assistant', content: 'x'.repeat(64 * 1024) }, done: false })}\n`,
)
const DONE = `${JSON.stringify({ model: 'chat:1b', done: true, prompt_eval_count: 1, eval_count: 1 })}\n`

interface Flood extends AsyncDisposable {
  url: string
  /** Bytes handed to the kernel for each answer. */
  sent: number[]
  closed: number
}

/** A worker that writes as fast as its peer takes it, `bytes` for each answer. */
async function startFlood(bytes: number): Promise<Flood> {
  const flood = { sent: [] as number[], closed: 0 }
  const server = createServer((req, res) => {
    if (req.url === '/api/version') res.end('{"version":"0.33.0"}')
    else if (req.url === '/api/ps') res.end('{"models":[]}')
    else if (req.url === '/api/tags')
      res.end(
        '{"models":[{"name":"chat:1b","model":"chat:1b","size":1,"digest":"d","details":{}}]}',
      )
    else if (req.url !== '/api/chat') res.writeHead(404).end('{}')
    else pour(res, bytes, flood)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(flood, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

function pour(res: ServerResponse, bytes: number, flood: { sent: number[]; closed: number }): void {
  const at = flood.sent.push(0) - 1
  res.once('close', () => (flood.closed += 1))
  res.on('error', () => {})
  res.writeHead(200, { 'content-type': 'application/x-ndjson' })
  const more = (): void => {
    while (!res.destroyed && (flood.sent[at] ?? 0) < bytes) {
      flood.sent[at] = (flood.sent[at] ?? 0) + LINE.length
      if (!res.write(LINE)) {
        res.once('drain', () => setImmediate(more))
        return
      }
    }
    if (!res.destroyed) res.end(DONE)
  }
  more()
}

const REQUEST_BODY = JSON.stringify({
  model: 'chat:1b',
  messages: [{ role: 'user', content: 'x' }],
})

/** Takes one chunk of the answer and reads no more. */
async function stopsReading(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `POST /api/chat HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-length: ${REQUEST_BODY.length}\r\n\r\n${REQUEST_BODY}`,
  )
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  return socket
}

// B043: five clients that read one chunk of 200 MB each and then nothing. Each may leave its bound
// unread and is ended then; the worker is never held up on their account, and slots are back.
test('clients that stop reading cost their bound, then their connection', async () => {
  await using flood = await startFlood(200 * MIB)
  await using rig = await startRig({
    workers: [{ url: flood.url }],
    workerConfig: { max_concurrent: 5 },
    config: { upstream: { slow_reader_buffer_bytes: 2 * MIB } },
  })
  globalThis.gc?.()
  const before = process.memoryUsage().rss
  let highest = before
  const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage().rss)), 5)
  const clients = await Promise.all(Array.from({ length: 5 }, () => stopsReading(rig.port)))
  await until(() => flood.closed === 5, { what: 'the worker to be let go' })
  await rig.quiet()
  clearInterval(watch)
  for (const bytes of flood.sent) assert.ok(bytes < 40 * MIB, `${bytes} bytes were taken from it`)
  const perClient = (highest - before) / 5 / MIB
  // The worker and the clients live in this process too.
  assert.ok(perClient < 20, `${perClient.toFixed(1)} MiB a client`)
  const outcomes = rig.log
    .filter(({ event }) => event === 'request.done')
    .map(({ outcome }) => outcome)
  assert.deepEqual(
    outcomes,
    Array.from({ length: 5 }, () => 'slow_client'),
  )
  for (const client of clients) {
    client.resume()
    await until(() => client.destroyed, { what: 'the client to see its connection end' })
  }
})

// B043: within the bound nothing is lost and the worker is done long before its client.
test('a client that pauses within the bound gets every byte, and never slows its worker', async () => {
  const bytes = 8 * MIB
  await using flood = await startFlood(bytes)
  await using rig = await startRig({
    workers: [{ url: flood.url }],
    config: { upstream: { slow_reader_buffer_bytes: 16 * MIB } },
  })
  const client = await stopsReading(rig.port)
  await until(() => flood.closed === 1, { what: 'the worker to have sent everything' })
  await rig.quiet()
  let last = ''
  client.on('data', (chunk) => (last = `${last}${chunk.toString('latin1')}`.slice(-200)))
  client.resume()
  await until(() => last.endsWith('0\r\n\r\n'), { what: 'the rest of the stream' })
  assert.match(last, /"done":true/)
  client.destroy()
})
