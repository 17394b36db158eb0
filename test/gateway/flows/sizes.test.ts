// The sizes that a gateway has to carry: many streams, a large body beside them, long lines, a
// large fleet. Numbers are printed; bounds are generous, the benchmarks hold the narrow ones.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { test } from 'node:test'
import { lastLine, startLargeWorker, streamLine } from '../../support/large-worker.ts'
import { startRig } from '../../support/rig.ts'
import { startServing } from '../../support/serve-process.ts'
import type { Serving } from '../../support/serve-process.ts'
import { ask, chatBody } from '../../support/sim-client.ts'
import { until } from '../../support/until.ts'

const MIB = 1024 * 1024

const residentMib = ({ pid }: Serving): number => {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

const onLinux = { skip: process.platform === 'linux' ? false : 'reads /proc' }

// A thousand streams at once: each gets every byte of its own, none is told a failure, and the
// worker really had all of them at the same time.
test('a thousand open streams', async (t) => {
  const lines = 12
  await using worker = await startLargeWorker({ models: [['m0:1b']], lines, pauseMs: 250 })
  const workers = [{ name: 'node-1', url: worker.urls[0], max_concurrent: 1_000 }]
  await using gateway = await startServing('', { workers })
  const whole = Array.from({ length: lines }, (_, at) => streamLine(at)).join('') + lastLine
  const started = performance.now()
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, () => ask(gateway.url, '/api/chat', chatBody('m0:1b')).answer),
  )
  let bytes = 0
  for (const { status, text, complete } of answers) {
    assert.equal(status, 200, text)
    assert.ok(complete)
    assert.equal(text, whole)
    bytes += text.length
  }
  assert.equal(worker.most, 1_000, 'the worker had all of them at once')
  t.diagnostic(`${bytes} bytes in ${Math.round(performance.now() - started)} ms`)
  await until(() => gateway.log.filter(({ outcome }) => outcome === 'ok').length === 1_000)
})

/** Exactly so many bytes of a chat request, in pieces. */
function* bodyOf(bytes: number): Generator<Buffer> {
  const head = Buffer.from('{"model":"m0:1b","stream":true,"messages":[{"role":"user","content":"')
  const tail = Buffer.from('"}]}')
  yield head
  let left = bytes - head.length - tail.length
  const piece = Buffer.alloc(MIB, 'word ')
  for (; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, piece.length))
  yield tail
}

async function sendBody(port: number, bytes: number): Promise<{ status: number; text: string }> {
  const req = request({
    port,
    path: '/api/chat',
    method: 'POST',
    agent: false,
    headers: { 'content-length': bytes },
  })
  const answer = new Promise<{ status: number; text: string }>((resolve, reject) => {
    req.on('error', reject).on('response', (res) => {
      let text = ''
      res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text }))
    })
  })
  for (const piece of bodyOf(bytes)) {
    if (!req.write(piece)) await new Promise((resolve) => req.once('drain', resolve))
  }
  req.end()
  return await answer
}

// A body of 100 MiB, the default limit to the byte, beside 200 streams: nobody's stream stands
// still for it, because it is parsed elsewhere and never copied on the way.
test('a body of 100 MiB beside 200 streams', onLinux, async (t) => {
  await using worker = await startLargeWorker({ models: [['m0:1b']], lines: 1_000, pauseMs: 50 })
  const workers = [{ name: 'node-1', url: worker.urls[0], max_concurrent: 300 }]
  const noGuard = { model_capabilities: { context_guard: 'off' } }
  await using gateway = await startServing('', { workers, ...noGuard }, monitored())
  const streams = Array.from({ length: 200 }, () =>
    ask(gateway.url, '/api/chat', chatBody('m0:1b')),
  )
  await until(() => worker.running === 200 && streams.every((one) => one.received() !== ''))
  gateway.kill('SIGUSR2')
  const before = residentMib(gateway)
  const sent = performance.now()
  const { status, text } = await sendBody(gateway.port, 100 * MIB)
  assert.deepEqual([status, text], [200, lastLine])
  const took = performance.now() - sent
  assert.ok(worker.received >= 100 * MIB, 'the worker got all of it')
  const after = residentMib(gateway)
  assert.equal(worker.running, 200, 'all streams run on')
  for (const one of streams) {
    const lines = one.received().split('\n').slice(0, -1)
    assert.deepEqual(
      lines,
      lines.map((_, at) => streamLine(at).trimEnd()),
    )
    one.leave()
  }
  await until(() => worker.running === 0)
  gateway.kill('SIGTERM')
  await gateway.ended
  const stall = Number(readFileSync(stallFile(gateway), 'utf8'))
  t.diagnostic(
    `longest stall ${stall.toFixed(0)} ms; ${took.toFixed(0)} ms for the body; RSS ${before.toFixed(0)} to ${after.toFixed(0)} MiB`,
  )
  assert.ok(stall < 1_000, `the loop stood still for ${stall} ms`)
})

const MONITOR = path.join(import.meta.dirname, '..', '..', 'support', 'loop-delay.js')
const monitored = () => ({
  NODE_OPTIONS: `--import=${MONITOR}`,
  OGW_LOOP_DELAY_FILE: 'FOLDER/stall',
})
const stallFile = ({ folder }: Serving): string => path.join(folder, 'stall')

// A line of 2 MB passes like any other, in each dialect that can have one, and the counts that
// stand behind it are read.
test('lines of 2 MB', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  for (const [route, body] of [
    ['/api/generate', { prompt: 'x' }],
    ['/api/chat', { messages: [{ role: 'user', content: 'x' }] }],
    [
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: 'x' }], stream_options: { include_usage: true } },
    ],
    ['/v1/responses', { input: 'x' }],
    ['/v1/messages', { messages: [{ role: 'user', content: 'x' }], max_tokens: 9 }],
  ] as const) {
    await rig.sims[0]?.faults.add({ kind: 'huge_line', bytes: 2 * MIB, path: route, times: 1 })
    const answer = await rig.post(route, { model: 'alpha:8b', ...body, stream: true })
    const text = await answer.text()
    const longest = Math.max(...text.split('\n').map((line) => line.length))
    assert.ok(longest >= 2 * MIB, `${route}: ${longest}`)
    await rig.quiet()
    const done = rig.log.findLast(({ event }) => event === 'request.done')
    assert.deepEqual([done?.['outcome'], done?.['estimated']], ['ok', false], route)
  }
})

// The token ids of an earlier answer, a million of them, sent and answered: not a byte is changed
// and the counts behind them are read. The guard is off, for no context holds a million tokens here.
test('a context of a million tokens, both ways', async () => {
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b'] }],
    config: { model_capabilities: { context_guard: 'off' } },
  })
  const [sim] = rig.sims
  const context = JSON.stringify(Array.from({ length: 1_000_000 }, (_, at) => at % 150_000))
  const last = `{"model":"alpha:8b","response":"","done":true,"done_reason":"stop","context":${context},"total_duration":9,"prompt_eval_count":3,"eval_count":4}\n`
  await sim?.faults.add({
    kind: 'script',
    chunks: ['{"model":"alpha:8b","response":"a","done":false}\n', last],
    path: '/api/generate',
  })
  const body = `{"model":"alpha:8b","prompt":"x","context":${context}}`
  const answer = await fetch(`${rig.url}/api/generate`, { method: 'POST', body })
  const text = await answer.text()
  assert.equal(answer.status, 200, text.slice(0, 300))
  assert.ok(text.endsWith(last))
  const seen = sim?.record.requests({ path: '/api/generate' })[0]
  assert.equal(seen?.bodyBytes, body.length)
  assert.ok(body.startsWith(seen.body.toString('latin1')), 'as far as the simulation keeps it')
  const { outcome, prompt_tokens, output_tokens } = await rig.logged('request.done')
  assert.deepEqual([outcome, prompt_tokens, output_tokens], ['ok', 3, 4])
})

// 200 workers with 500 models each, 2,000 names in all: it starts, knows them all, lists them in
// one list, and stays small.
test('a fleet of 200 workers with 500 models each', onLinux, async (t) => {
  const models = Array.from({ length: 200 }, (_, worker) =>
    Array.from({ length: 500 }, (__, at) => `m${(worker * 7 + at * 4) % 2_000}:1b`),
  )
  await using worker = await startLargeWorker({ models })
  const workers = worker.urls.map((url, index) => ({ name: `node-${index + 1}`, url }))
  await using gateway = await startServing('', { workers })
  const started = performance.now()
  const names = async (): Promise<number> => {
    const { models: rows } = (await (await fetch(`${gateway.url}/api/tags`)).json()) as {
      models: unknown[]
    }
    return rows.length
  }
  const expected = new Set(models.flat()).size
  await until(async () => (await names()) === expected, { timeoutMs: 20_000, intervalMs: 100 })
  const known = performance.now() - started
  const asked = performance.now()
  await names()
  const listMs = performance.now() - asked
  assert.equal((await ask(gateway.url, '/api/chat', chatBody('m0:1b')).answer).status, 200)
  const rss = residentMib(gateway)
  t.diagnostic(
    `${expected} names known after ${known.toFixed(0)} ms, listed in ${listMs.toFixed(0)} ms, RSS ${rss.toFixed(0)} MiB`,
  )
  assert.ok(rss < 250, `${rss} MiB`)
})
