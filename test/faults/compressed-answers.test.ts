// Workers, or proxies in front of them, that compress although nobody asked for it.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { finished } from 'node:stream/promises'
import { suite, test } from 'node:test'
import {
  brotliCompressSync,
  constants,
  createGzip,
  createZstdCompress,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib'
import type { Fault } from '../../src/cli/simulator/worker.ts'
import { STREAM_REQUESTS } from '../support/dialect-requests.ts'
import { startRig } from '../support/rig.ts'
import { ask, chatBody } from '../support/sim-client.ts'
import { until } from '../support/until.ts'

const CODINGS: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: gzipSync,
  'x-gzip': gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
}

const ANSWERS: Readonly<Record<string, unknown>> = {
  '/api/version': { version: '0.33.0' },
  '/api/tags': { models: [{ name: 'alpha:8b', digest: 'a'.repeat(64), size: 1 }] },
  '/api/ps': { models: [] },
}

/** A worker behind a proxy that compresses everything. */
async function startCompressed(coding: string, compress: (text: string) => Buffer) {
  const server = createServer((req, res) => {
    res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding })
    res.end(compress(JSON.stringify(ANSWERS[req.url ?? ''] ?? {})))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server that listens
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const base64 = (data: Buffer) => ({ base64: data.toString('base64') })

function compressedError(status: number, text: string, coding: string): Fault {
  const data = CODINGS[coding]?.(text) ?? Buffer.from(text)
  const headers = { 'content-type': 'application/json', 'content-encoding': coding }
  return {
    kind: 'script',
    status,
    headers,
    chunks: [base64(data)],
    framing: 'content-length',
    end: 'clean',
  }
}

// B056: the error branch is the one that is easily forgotten. The words are readable, in each
// dialect, and understood: a 404 that says the model is missing moves the request to its twin.
suite('compressed errors', { concurrency: true }, () => {
  for (const coding of Object.keys(CODINGS)) {
    test(`${coding}: readable, and no coding is announced`, async () => {
      await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
      for (const { path, body } of STREAM_REQUESTS) {
        const words = '{"error":"something is wrong with the tokenizer"}'
        await rig.sims[0]?.faults.add({ ...compressedError(500, words, coding), path, times: 1 })
        const answer = await ask(rig.url, path, { model: 'alpha:8b', ...body, stream: true }).answer
        assert.equal(answer.status, 500)
        assert.equal(answer.text, words)
        assert.equal(answer.headers['content-encoding'], undefined)
      }
    })
    test(`${coding}: a missing model is understood`, async () => {
      await using rig = await startRig({
        workers: [{ models: ['alpha:8b'] }, { models: ['alpha:8b'] }],
      })
      const words = '{"error":"model \\"alpha:8b\\" not found, try pulling it first"}'
      await rig.sims[0]?.faults.add({ ...compressedError(404, words, coding), path: '/api/chat' })
      const answer = await ask(rig.url, '/api/chat', chatBody('alpha:8b')).answer
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['x-ogw-worker'], 'node-2')
    })
  }
})

const line = (word: string): string =>
  `{"model":"alpha:8b","message":{"role":"assistant","content":"${word}"},"done":false}\n`
const DONE = '{"model":"alpha:8b","done":true,"prompt_eval_count":3,"eval_count":2}\n'

/** One compressed piece a text, each flushed as a server that streams does. */
async function flushed(texts: readonly string[], coding = 'gzip'): Promise<Buffer[]> {
  const how =
    coding === 'zstd'
      ? { stream: createZstdCompress(), flush: constants.ZSTD_e_flush }
      : { stream: createGzip(), flush: constants.Z_SYNC_FLUSH }
  const { stream } = how
  const pieces: Buffer[] = []
  let piece: Buffer[] = []
  stream.on('data', (chunk: Buffer) => piece.push(chunk))
  for (const text of texts) {
    stream.write(text)
    await new Promise<void>((resolve) => stream.flush(how.flush, resolve))
    pieces.push(Buffer.concat(piece))
    piece = []
  }
  await finished(stream.end())
  pieces.push(Buffer.concat(piece))
  return pieces
}

// B056: each line is there when the worker has flushed it, not when its compression is over.
for (const coding of ['gzip', 'zstd']) {
  test(`a stream compressed by ${coding} stays live`, async () => {
    await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
    const pieces = await flushed([line('one'), line('two'), DONE], coding)
    const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': coding }
    await rig.sims[0]?.faults.add({
      kind: 'script',
      headers,
      chunks: pieces.map(base64),
      gapMs: 250,
      path: '/api/chat',
    })
    const asked = ask(rig.url, '/api/chat', chatBody('alpha:8b'))
    await until(() => asked.received() === line('one'), {
      intervalMs: 2,
      what: 'the first line alone',
    })
    await until(() => asked.received() === line('one') + line('two'), { intervalMs: 2 })
    const { headers: seen, text } = await asked.answer
    assert.equal(text, line('one') + line('two') + DONE)
    assert.equal(seen['content-encoding'], undefined)
    const { outcome, prompt_tokens, output_tokens } = await rig.logged('request.done')
    assert.deepEqual([outcome, prompt_tokens, output_tokens], ['ok', 3, 2])
  })
}

// A proxy that compresses all it passes on also compresses what the gateway asks for itself: the
// worker is up, and its models are known.
test('compressed answers to probes and to the lists of models are read', async () => {
  for (const [coding, compress] of Object.entries(CODINGS)) {
    await using worker = await startCompressed(coding, compress)
    await using rig = await startRig({ workers: [{ url: worker.url }] })
    const [seen] = rig.gateway.parts.fleet.workers()
    assert.equal(seen?.health.state, 'up', coding)
    assert.equal(seen?.version, '0.33.0', coding)
    assert.ok(seen?.inventory.state === 'known' && seen.inventory.models.size === 1, coding)
  }
})

// B056: a coding that is announced and not true, or cut short, is a broken answer and no crash.
test('what is announced as gzip and is none is a failure that is told', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  const headers = { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' }
  await rig.sims[0]?.faults.add({
    kind: 'script',
    headers,
    chunks: [line('plain')],
    path: '/api/chat',
    times: 1,
  })
  const lied = await rig.post('/api/chat', chatBody('alpha:8b'))
  assert.equal(lied.status, 502, await lied.text())

  const [first = Buffer.alloc(0)] = await flushed([line('one')])
  await rig.sims[0]?.faults.add({
    kind: 'script',
    headers,
    chunks: [base64(first)],
    path: '/api/chat',
    times: 1,
  })
  const cut = await (await rig.post('/api/chat', chatBody('alpha:8b'))).text()
  assert.ok(cut.startsWith(line('one')), cut)
  assert.match(cut.slice(line('one').length), /^\{"error":/)
})

// B056: nobody said that it is compressed: the bytes pass, the counts are estimates, no success.
test('gzip that nobody announced passes, is counted as unknown, and crashes nothing', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  for (const { path, body } of STREAM_REQUESTS) {
    await rig.sims[0]?.faults.add({ kind: 'gzip', declared: false, path, times: 1 })
    for (const stream of [true, false]) {
      const answer = await rig.post(path, { model: 'alpha:8b', ...body, stream })
      await answer.arrayBuffer()
      assert.ok(answer.status === 200 || answer.status === 502)
      const plain = await rig.post(path, { model: 'alpha:8b', ...body, stream })
      assert.match(await plain.text(), /[{]/)
    }
  }
  await rig.quiet()
  const unclear = rig.log.filter(
    ({ event, outcome }) => event === 'request.done' && outcome !== 'ok',
  )
  assert.ok(unclear.length >= STREAM_REQUESTS.length)
  for (const { estimated, outcome } of unclear)
    assert.ok(estimated === true || outcome === 'failed')
})
