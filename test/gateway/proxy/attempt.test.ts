import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Pool, request } from 'undici'
import { systemClock } from '../../../src/gateway/clock.ts'
import { Attempt } from '../../../src/gateway/proxy/attempt.ts'
import type { AttemptOptions } from '../../../src/gateway/proxy/attempt.ts'
import type { AttemptResult } from '../../../src/gateway/proxy/attempt-result.ts'
import { ClientStream } from '../../../src/gateway/proxy/client-stream.ts'
import { answerHeaders } from '../../../src/gateway/proxy/upstream-request.ts'
import { chunk, head, lastChunk, startRawWorker } from '../../support/raw-worker.ts'
import type { RawWorker, Step } from '../../support/raw-worker.ts'
import { until } from '../../support/until.ts'

interface Rig extends AsyncDisposable {
  url: string
  port: number
  results: AttemptResult[]
}

/** A server that relays each request to the worker by one Attempt and ends what is left open. */
async function startRig(worker: RawWorker, options: Partial<AttemptOptions> = {}): Promise<Rig> {
  const pool = new Pool(worker.url, { headersTimeout: 0, bodyTimeout: 0 })
  const results: AttemptResult[] = []
  const server = createServer((req, res) => {
    let leave = (): void => {}
    res.once('close', () => leave())
    res.on('error', () => {})
    const client = new ClientStream({ req, res, answerHeaders: {} })
    const attempt = new Attempt({
      clock: systemClock,
      client,
      streamed: true,
      firstByte: { graceMs: 60_000, timeoutMs: 60_000 },
      stream: { graceMs: 60_000, timeoutMs: 60_000 },
      slowReaderBufferBytes: 1024 * 1024,
      stop: { isStopped: () => false, onStop: (action) => void (leave = action) },
      probe: () => Promise.resolve({ ok: true }),
      headersOf: answerHeaders,
      onFirstByte: () => {},
      isWhole: () => false,
      rewrite: undefined,
      ...options,
    })
    const body = Buffer.from('{}')
    const headers = { 'content-length': String(body.length) }
    pool.dispatch({ method: 'POST', path: '/', body, headers }, attempt)
    void attempt.result.then((result) => {
      results.push(result)
      if (result.kind === 'relayed' && result.end.kind === 'ended') client.end()
      else client.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server that listens
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    results,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await pool.destroy()
    },
  }
}

async function play(script: Step[], options: Partial<AttemptOptions> = {}) {
  await using worker = await startRawWorker(script)
  await using rig = await startRig(worker, options)
  const answer = await request(rig.url, { method: 'POST' }).then(
    async ({ statusCode, headers, body }) => {
      const bytes = await body.arrayBuffer().then(Buffer.from, () => undefined)
      return { statusCode, headers, bytes }
    },
    () => undefined,
  )
  const result = await until(() => rig.results[0], { timeoutMs: 10_000, what: 'the result' })
  return { answer, result }
}

// One byte per packet, with characters of two to four bytes: whoever decodes per chunk breaks them.
test('bytes pass unchanged however they are split', async () => {
  const text = Buffer.from('{"response":"Größe 渐🚀"}\n{"done":true}\n')
  const { answer, result } = await play([
    head(),
    ...[...text].map((_, at) => chunk(text.subarray(at, at + 1))),
    lastChunk,
  ])
  assert.deepEqual(answer?.bytes, text)
  assert.equal(answer?.headers['content-type'], 'application/x-ndjson')
  assert.equal(answer?.headers['transfer-encoding'], 'chunked')
  assert.ok(result.kind === 'relayed' && result.end.kind === 'ended')
  assert.equal(result.tail.toString(), text.toString())
})

test('a large chunk passes in one piece', async () => {
  const line = Buffer.alloc(2_000_000, 'x')
  const { answer, result } = await play([head(), chunk(line), lastChunk])
  assert.equal(answer?.bytes?.equals(line), true)
  assert.ok(result.kind === 'relayed')
  assert.ok(result.tail.length < 100_000, 'the tail is bounded')
})

test('an answer with a length keeps it', async () => {
  const bytes =
    'HTTP/1.1 200 OK\r\ncontent-length: 15\r\ncontent-type: application/json\r\n\r\n{"done":true}  '
  const { answer } = await play([{ do: 'send', bytes }], { isWhole: () => true })
  assert.equal(answer?.headers['content-length'], '15')
  assert.equal(answer?.bytes?.toString(), '{"done":true}  ')
})

test('what the worker’s own Connection names is not passed on', async () => {
  const bytes =
    'HTTP/1.1 200 OK\r\nconnection: close, X-Hop\r\nx-hop: 1\r\nx-kept: 1\r\ncontent-length: 2\r\n\r\n{}'
  const { answer } = await play([{ do: 'send', bytes }])
  assert.equal(answer?.headers['x-hop'], undefined)
  assert.equal(answer?.headers['x-kept'], '1')
})

for (const streamed of [true, false]) {
  test(`headers and then a clean end are a failure before the first byte (${streamed})`, async () => {
    const { answer, result } = await play([head(), lastChunk], { streamed })
    assert.deepEqual(result, { kind: 'failed', fault: { cause: 'empty' } })
    assert.equal(answer, undefined, 'nothing went to the client')
  })
}

test('a reset before the first byte fails without a byte to the client', async () => {
  const { answer, result } = await play([head(), { do: 'wait', ms: 20 }, { do: 'reset' }])
  assert.ok(result.kind === 'failed' && result.fault.cause === 'transport')
  assert.equal(answer, undefined)
})

test('a short answer that is not streamed is held until it is whole', async () => {
  const cut = await play(
    [head('application/json'), chunk('{"a":'), { do: 'wait', ms: 20 }, { do: 'reset' }],
    { streamed: false },
  )
  assert.ok(cut.result.kind === 'relayed' && cut.result.end.kind === 'cut')
  assert.equal(cut.answer, undefined, 'a part of a document is not sent')
  const whole = await play([head('application/json'), chunk('{"a":'), chunk('1}'), lastChunk], {
    streamed: false,
  })
  assert.equal(whole.answer?.bytes?.toString(), '{"a":1}')
  assert.equal(whole.answer?.headers['content-length'], '7')
})

test('a redirect is not followed', async () => {
  const bytes = 'HTTP/1.1 307 Temporary Redirect\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n'
  const { result } = await play([{ do: 'send', bytes }])
  assert.deepEqual(result, { kind: 'failed', fault: { cause: 'redirect', status: 307 } })
})

test('an informational answer is passed over', async () => {
  const { answer } = await play([
    { do: 'send', bytes: 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n' },
    head(),
    chunk('{"done":true}\n'),
    lastChunk,
  ])
  assert.equal(answer?.statusCode, 200)
})

test("a worker's error is kept whole for whoever decides", async () => {
  const bytes = 'HTTP/1.1 404 Not Found\r\ncontent-length: 13\r\n\r\n{"error":"x"}'
  const { result } = await play([{ do: 'send', bytes }])
  assert.ok(result.kind === 'refused')
  assert.equal(result.status, 404)
  assert.equal(result.body.toString(), '{"error":"x"}')
})

test('an error body that never ends is given up', { timeout: 20_000 }, async () => {
  const bytes = 'HTTP/1.1 500 Oops\r\ncontent-length: 100\r\n\r\n{"err'
  const { result } = await play([{ do: 'send', bytes }, { do: 'hang' }])
  assert.deepEqual(result, { kind: 'failed', fault: { cause: 'unreadable_error', status: 500 } })
})

test('an error body that is too large to keep is unreadable', async () => {
  const block = Buffer.alloc(64 * 1024, 'x')
  const { result } = await play([
    head('application/json', '500 Oops'),
    ...Array.from({ length: 17 }, () => chunk(block)),
    lastChunk,
  ])
  assert.deepEqual(result, { kind: 'failed', fault: { cause: 'unreadable_error', status: 500 } })
})

test('what was given up before it was sent is not sent', async () => {
  await using worker = await startRawWorker([head(), chunk('{"done":true}\n'), lastChunk])
  await using rig = await startRig(worker, { stop: { isStopped: () => true, onStop: () => {} } })
  await assert.rejects(request(rig.url, { method: 'POST' }))
  const result = await until(() => rig.results[0], { timeoutMs: 5_000, what: 'the result' })
  assert.equal(result.kind, 'aborted')
  assert.deepEqual(worker.requests, [])
})

test('an error body that is cut is unreadable', async () => {
  const bytes = 'HTTP/1.1 500 Oops\r\ncontent-length: 100\r\n\r\n{"err'
  const { result } = await play([{ do: 'send', bytes }, { do: 'wait', ms: 20 }, { do: 'reset' }])
  assert.deepEqual(result, { kind: 'failed', fault: { cause: 'unreadable_error', status: 500 } })
})

test('a compressed answer is decompressed as it comes', async () => {
  const text = '{"response":"Größe"}\n{"done":true}\n'
  const { answer } = await play([
    {
      do: 'send',
      bytes: 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n',
    },
    chunk(gzipSync(text)),
    lastChunk,
  ])
  assert.equal(answer?.bytes?.toString(), text)
  assert.equal(answer?.headers['content-encoding'], undefined)
})

const silent = { graceMs: 50, timeoutMs: 60_000 }

test('silence of an absent worker ends the wait; silence of a busy one does not', async () => {
  const absent = await play([head(), { do: 'hang' }], {
    firstByte: silent,
    probe: () => Promise.resolve({ ok: false, error: 'refused' }),
  })
  assert.ok(absent.result.kind === 'failed' && absent.result.fault.cause === 'absent')
  let probes = 0
  const busy = await play([head(), { do: 'wait', ms: 400 }, chunk('{"done":true}\n'), lastChunk], {
    firstByte: silent,
    probe: () => {
      probes += 1
      return Promise.resolve({ ok: true })
    },
  })
  assert.ok(busy.result.kind === 'relayed')
  assert.ok(probes >= 2, 'asked again each further grace')
})

test('a busy worker is waited for at most the whole time', async () => {
  const { result } = await play([{ do: 'hang' }], { firstByte: { graceMs: 50, timeoutMs: 200 } })
  assert.ok(result.kind === 'failed' && result.fault.cause === 'timeout')
  assert.ok(result.fault.silentMs >= 200)
})

// A probe that was sent before the byte came says nothing about the time after it.
test('a byte during the probe outweighs the probe', async () => {
  const { result } = await play(
    [
      { do: 'wait', ms: 100 },
      head(),
      chunk('{"done":false}\n'),
      { do: 'wait', ms: 500 },
      chunk('{"done":true}\n'),
      lastChunk,
    ],
    {
      firstByte: silent,
      probe: () => new Promise((resolve) => setTimeout(resolve, 300, { ok: false, error: 'late' })),
    },
  )
  assert.ok(result.kind === 'relayed' && result.end.kind === 'ended')
})

test('silence after the first byte has limits of its own', async () => {
  const pausing: Step[] = [
    head(),
    chunk('{"done":false}\n'),
    { do: 'wait', ms: 400 },
    chunk('{"done":true}\n'),
    lastChunk,
  ]
  const probe = () => Promise.resolve({ ok: false as const, error: 'refused' })
  const patient = await play(pausing, { firstByte: silent, probe })
  assert.ok(patient.result.kind === 'relayed' && patient.result.end.kind === 'ended')
  const strict = await play(pausing, { stream: silent, probe })
  assert.ok(strict.result.kind === 'relayed' && strict.result.end.kind === 'absent')
})

test('a client that leaves breaks off the worker at once', async () => {
  await using worker = await startRawWorker([head(), chunk('{"response":"a"}\n'), { do: 'hang' }])
  await using rig = await startRig(worker)
  const socket = connect(rig.port, '127.0.0.1', () => {
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n')
  })
  await new Promise((resolve) => socket.once('data', resolve))
  socket.destroy()
  await worker.abandoned
  const result = await until(() => rig.results[0], { timeoutMs: 5_000, what: 'the result' })
  assert.ok(result.kind === 'relayed' && result.end.kind === 'aborted')
})

// The worker goes on at full speed: a paused upstream can cost a real Ollama a slot.
test('a client that does not read is ended at the bound', { timeout: 30_000 }, async () => {
  const block = Buffer.alloc(64 * 1024, 'x')
  const blocks = Array.from({ length: 320 }, () => chunk(block))
  await using worker = await startRawWorker([head(), ...blocks, lastChunk])
  await using rig = await startRig(worker)
  const socket = connect(rig.port, '127.0.0.1', () => {
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n')
  })
  socket.pause()
  socket.on('error', () => {})
  const result = await until(() => rig.results[0], { timeoutMs: 20_000, what: 'the result' })
  assert.ok(result.kind === 'relayed' && result.end.kind === 'slow_client')
  socket.destroy()
})

test('HTTP/1.0 gets plain bytes until the connection ends', async () => {
  await using worker = await startRawWorker([
    head(),
    chunk('{"a":1}\n'),
    chunk('{"done":true}\n'),
    lastChunk,
  ])
  await using rig = await startRig(worker)
  const text = await new Promise<string>((resolve) => {
    let received = ''
    const socket = connect(rig.port, '127.0.0.1', () => socket.write('POST / HTTP/1.0\r\n\r\n'))
    socket.on('data', (data) => (received += data.toString())).on('end', () => resolve(received))
  })
  const [answerHead = '', body] = text.split('\r\n\r\n')
  assert.equal(body, '{"a":1}\n{"done":true}\n')
  assert.doesNotMatch(answerHead, /transfer-encoding/i)
})

test('two requests on one connection get two whole answers', async () => {
  await using worker = await startRawWorker([head(), chunk('{"a":1}\n'), lastChunk])
  await using rig = await startRig(worker)
  const pool = new Pool(rig.url, { connections: 1 })
  for (const _ of [1, 2, 3]) {
    const { body } = await pool.request({ method: 'POST', path: '/' })
    assert.equal(await body.text(), '{"a":1}\n')
  }
  await pool.destroy()
})
