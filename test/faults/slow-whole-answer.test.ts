// Whole answers that are larger than what a slow client may leave unread: a real Ollama sends
// them chunked, without a length. Nothing is generated any more, so its worker waits.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { startRig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024
const BODY = JSON.stringify({ model: 'embed:1b', input: 'x' })
const ANSWER = Buffer.from(
  JSON.stringify({ model: 'embed:1b', embeddings: [Array.from({ length: 4 * MIB }, () => 0.25)] }),
)

async function startEmbedder(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((req, res) => {
    if (req.url === '/api/version') res.end('{"version":"0.33.0"}')
    else if (req.url === '/api/ps') res.end('{"models":[]}')
    else if (req.url === '/api/tags')
      res.end(
        '{"models":[{"name":"embed:1b","model":"embed:1b","size":1,"digest":"d","details":{}}]}',
      )
    else if (req.url !== '/api/embed') res.writeHead(404).end('{}')
    else {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.write(ANSWER)
      res.end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('a whole answer without a length waits for a slow client and arrives whole', async () => {
  await using embedder = await startEmbedder()
  await using rig = await startRig({
    workers: [{ url: embedder.url }],
    config: { upstream: { slow_reader_buffer_bytes: MIB, stream_idle_timeout: '8s' } },
  })
  const socket = connect(rig.port, '127.0.0.1')
  const chunks: Buffer[] = []
  let bytes = 0
  socket.write(
    `POST /api/embed HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${BODY.length}\r\nconnection: close\r\n\r\n${BODY}`,
  )
  await new Promise((resolve) => socket.once('readable', resolve))
  let seen = { chunks: 0, at: 0 }
  const standsStill = (): boolean => {
    const chunks = rig.gateway.parts.active.list()[0]?.chunks() ?? 0
    if (chunks !== seen.chunks) seen = { chunks, at: performance.now() }
    return chunks > 0 && performance.now() - seen.at > 500
  }
  await until(standsStill, { what: 'the answer to stand still' })
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
  })
  await new Promise((resolve) => socket.once('close', resolve))
  assert.ok(bytes > ANSWER.length, `${bytes} of ${ANSWER.length} bytes`)
  assert.match(Buffer.concat(chunks).toString('latin1').slice(-10), /\r\n0\r\n\r\n$/)
  assert.deepEqual(
    rig.done.map(({ outcome }) => outcome),
    ['ok'],
  )
})
