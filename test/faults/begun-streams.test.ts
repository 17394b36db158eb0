// Streams that break after their first byte, and answers that never had one. What the client has
// seen is never sent again, and no broken stream ends as if it were whole.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Fault } from '../../src/cli/simulator/worker.ts'
import { STREAM_REQUESTS } from '../support/dialect-requests.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { ask } from '../support/sim-client.ts'

const twins = (): Promise<Rig> =>
  startRig({
    workers: [
      { models: ['alpha:8b'], tokens: 5, tokenMs: 5 },
      { models: ['alpha:8b'], tokens: 5, tokenMs: 5 },
    ],
  })

/** A model that could not run rests on its worker; here each round is to find it rested. */
function heal({ gateway }: Rig): void {
  for (const worker of ['node-1', 'node-2']) {
    gateway.parts.fleet.apply({ type: 'answered', worker, model: 'alpha:8b' })
  }
}

const requestsAt = (rig: Rig, path: string): number[] =>
  rig.sims.map((sim) => sim.record.counts()[`POST ${path}`] ?? 0)

/** The ways in which a stream that has begun can break, at each position of it. */
const BREAKS: readonly ((after: number) => Fault)[] = [
  (after) => ({ kind: 'cut', after, how: 'rst' }),
  (after) => ({ kind: 'cut', after, how: 'fin' }),
  (after) => ({ kind: 'stream_error', after }),
  (after) => ({ kind: 'kill_runner', after }),
]

// B016, B018, B058, B059: the break moves one chunk further each round. Before the first body byte
// the twin takes over; after it the twin is never asked, what was sent is passed on, and one
// failure in the dialect's own form ends the stream.
suite('wherever a stream breaks, the client is told once and nothing is replayed', () => {
  for (const each of STREAM_REQUESTS) {
    test(each.path, async () => {
      await using rig = await twins()
      let told = 0
      for (const breakAt of BREAKS) {
        for (let after = 0; after <= 4; after += 1) {
          for (const sim of rig.sims) {
            sim.record.reset()
            await sim.faults.add({ ...breakAt(after), path: each.path, times: 1 })
          }
          const what = `${JSON.stringify(breakAt(after))}`
          const asked = ask(rig.url, each.path, { model: 'alpha:8b', ...each.body, stream: true })
          const { status, text } = await asked.answer
          const counts = requestsAt(rig, each.path)
          if (status === 200 && text !== '') {
            assert.equal(counts[0]! + counts[1]!, 1, `${what}: no second worker after a byte`)
            assert.ok(each.tellsFailure(text), `${what}: told in the stream: ${text}`)
            assert.ok(!each.saysWhole(text), `${what}: not whole: ${text}`)
            told += 1
          } else {
            assert.ok(after === 0, `${what}: only before the first byte: ${status} ${text}`)
            assert.ok(status >= 500, `${what} ${status} ${text}`)
            assert.ok(each.messageOf(JSON.parse(text)).length > 0)
          }
          for (const sim of rig.sims) await sim.faults.clear()
          await rig.quiet()
          heal(rig)
        }
      }
      assert.ok(told >= 12, `${told} broken streams were told`)
    })
  }
})

// B016: exactly what came, and one failure after it.
test('three chunks and a reset: the client has three chunks and an error line', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }, { models: ['beta:4b'] }] })
  const line = (word: string): string =>
    `{"model":"alpha:8b","message":{"role":"assistant","content":"${word}"},"done":false}\n`
  const chunks = ['a', 'b', 'c'].map(line)
  await rig.sims[0]?.faults.add({
    kind: 'script',
    chunks,
    gapMs: 20,
    end: 'rst',
    path: '/api/chat',
  })
  const answer = await rig.post('/api/chat', {
    model: 'alpha:8b',
    messages: [{ role: 'user', content: 'x' }],
  })
  const text = await answer.text()
  assert.ok(text.startsWith(chunks.join('')))
  const rest = text.slice(chunks.join('').length)
  assert.match(rest, /^\{"error":"[^\n]*node-1[^\n]*"\}\n$/)
  const worker = rig.gateway.parts.fleet.worker('node-1')
  assert.equal(worker?.breaker.phase === 'closed' && worker.breaker.faults.length, 1, 'it counts')
  assert.equal(worker?.rates.size, 0, 'nothing is learned of what broke')
})

const LARGE = JSON.stringify({
  model: 'alpha:8b',
  message: { role: 'assistant', content: 'x'.repeat(600_000) },
  done: true,
})

// Its head is out by then, and no dialect has a place for an error inside a document: a clean end
// would make a half of it the whole.
test('a large whole answer that is cut breaks at the client as well', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  await rig.sims[0]?.faults.add({
    kind: 'script',
    headers: { 'content-type': 'application/json' },
    chunks: [LARGE.slice(0, 400_000), LARGE.slice(400_000, 500_000)],
    gapMs: 100,
    end: 'rst',
    path: '/api/chat',
  })
  const answer = await rig.post('/api/chat', {
    model: 'alpha:8b',
    messages: [{ role: 'user', content: 'x' }],
    stream: false,
  })
  assert.equal(answer.status, 200)
  await assert.rejects(answer.text())
  await rig.quiet()
  assert.deepEqual(
    rig.done.map(({ outcome }) => outcome),
    ['broken'],
  )
})

// Nothing is missing that a client could not see for itself, but it is no success either.
test('a whole answer that does not say that it is done passes, and is booked as broken', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  const body = '{"model":"alpha:8b","message":{"role":"assistant","content":"x"},"done":false}'
  await rig.sims[0]?.faults.add({
    kind: 'script',
    headers: { 'content-type': 'application/json' },
    chunks: [body],
    path: '/api/chat',
  })
  const answer = await rig.post('/api/chat', {
    model: 'alpha:8b',
    messages: [{ role: 'user', content: 'x' }],
    stream: false,
  })
  assert.equal(await answer.text(), body)
  await rig.quiet()
  assert.deepEqual(
    rig.done.map(({ outcome, code }) => [outcome, code]),
    [['broken', 'worker_incomplete']],
  )
})

/** A head and no word after it. */
const EMPTIES: readonly { name: string; fault: Fault }[] = [
  {
    name: 'clean end of chunks',
    fault: { kind: 'script', chunks: [], framing: 'chunked', end: 'clean' },
  },
  { name: 'content-length: 0', fault: { kind: 'empty' } },
  { name: 'head, then FIN', fault: { kind: 'script', chunks: [], framing: 'close', end: 'clean' } },
  { name: 'head, then RST', fault: { kind: 'script', chunks: [], framing: 'chunked', end: 'rst' } },
]

// B018: a head without a word is no answer. A twin answers instead; alone it is a 502 that says
// so, counted as a fault of the worker, with no usage.
suite('an empty answer is no success', { concurrency: true }, () => {
  for (const { name, fault } of EMPTIES) {
    test(`${name}: another worker answers`, async () => {
      await using rig = await twins()
      for (const each of STREAM_REQUESTS) {
        for (const stream of [true, false]) {
          await rig.sims[0]?.faults.add({ ...fault, path: each.path })
          const answer = await rig.post(each.path, { model: 'alpha:8b', ...each.body, stream })
          assert.equal(answer.status, 200)
          const text = await answer.text()
          assert.ok(text.length > 0, `${each.path} stream ${stream}`)
          assert.equal(answer.headers.get('x-ogw-worker'), 'node-2')
          await rig.sims[0]?.faults.clear()
        }
      }
    })
    test(`${name}: alone it is a 502`, async () => {
      await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
      for (const each of STREAM_REQUESTS) {
        for (const stream of [true, false]) {
          await rig.sims[0]?.faults.add({ ...fault, path: each.path })
          const answer = await rig.post(each.path, { model: 'alpha:8b', ...each.body, stream })
          const text = await answer.text()
          assert.equal(answer.status, 502, `${each.path} ${text}`)
          assert.match(each.messageOf(JSON.parse(text)), /node-1: /)
          await rig.sims[0]?.faults.clear()
        }
      }
      await rig.quiet()
      for (const line of rig.log.filter(({ event }) => event === 'request.done')) {
        assert.equal(line['outcome'], 'failed')
        assert.equal(line['output_tokens'], 0)
      }
    })
  }
})

// B058: an error inside a stream that ends properly is an error, whatever its terminator says. It
// is passed on as it came, once, and the model rests on that worker.
test('an error object in a stream is passed on once and booked as an error', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b', 'beta:4b'] }] })
  const [sim] = rig.sims
  const cases = [
    {
      path: '/api/chat',
      chunks: [
        '{"model":"alpha:8b","message":{"role":"assistant","content":"a"},"done":false}\n',
        '{"error":"CUDA error: out of memory"}\n',
      ],
    },
    {
      path: '/v1/chat/completions',
      chunks: [
        'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
        'data: {"error":{"message":"CUDA error: out of memory","type":"api_error"}}\n\n',
        'data: [DONE]\n\n',
      ],
    },
    {
      path: '/v1/messages',
      chunks: [
        'event: message_start\ndata: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":0,"output_tokens":0}}}\n\n',
        'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"CUDA error: out of memory"}}\n\n',
      ],
    },
    {
      path: '/v1/responses',
      chunks: [
        'event: response.created\ndata: {"type":"response.created","response":{"id":"r"},"sequence_number":0}\n\n',
        'event: response.failed\ndata: {"type":"response.failed","response":{"id":"r","error":{"message":"CUDA error: out of memory"}},"sequence_number":1}\n\n',
      ],
    },
  ]
  for (const { path, chunks } of cases) {
    const each = STREAM_REQUESTS.find((request) => request.path === path)
    await sim?.faults.add({ kind: 'script', chunks, path, times: 1 })
    const model = { '/api/chat': 'alpha:8b' }[path] ?? 'beta:4b'
    rig.gateway.parts.fleet.apply({ type: 'answered', worker: 'node-1', model: 'beta:4b' })
    const answer = await rig.post(path, { model, ...each?.body, stream: true })
    assert.equal(await answer.text(), chunks.join(''), `${path}: passed on as it came`)
  }
  await rig.quiet()
  const done = rig.log.filter(({ event }) => event === 'request.done')
  assert.deepEqual(
    done.map(({ outcome, code }) => [outcome, code]),
    cases.map(() => ['broken', 'worker_error']),
  )
  // The model rests there; the worker's other models do not.
  const again = await rig.post('/api/chat', {
    model: 'alpha:8b',
    messages: [{ role: 'user', content: 'x' }],
  })
  assert.equal(again.status, 503, await again.text())
  const metrics = await (await fetch(`${rig.opsUrl}/metrics`)).text()
  assert.match(metrics, /outcome="broken"/)
})

// B059: Codex reads events by their numbers. A whole sequence passes byte for byte.
test('a whole Responses stream passes byte for byte', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  const events = [
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.output_item.added', output_index: 0 },
    { type: 'response.output_text.delta', delta: 'Größe 渐🚀' },
    {
      type: 'response.completed',
      response: { id: 'resp_1', usage: { input_tokens: 3, output_tokens: 2 } },
    },
  ]
  const chunks = events.map(
    (event, sequence) =>
      `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: sequence })}\n\n`,
  )
  await rig.sims[0]?.faults.add({ kind: 'script', chunks, path: '/v1/responses' })
  const answer = await rig.post('/v1/responses', { model: 'alpha:8b', input: 'hi', stream: true })
  assert.equal(await answer.text(), chunks.join(''))
  const { outcome, prompt_tokens, output_tokens } = await rig.logged('request.done')
  assert.deepEqual(
    { outcome, prompt_tokens, output_tokens },
    { outcome: 'ok', prompt_tokens: 3, output_tokens: 2 },
  )
})

// B059: two deltas and a clean end. The failure carries the response's id and the next number.
test('a Responses stream without its end is told as response.failed', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  const chunks = [
    'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1"},"sequence_number":0}\n\n',
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"a","sequence_number":1}\n\n',
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"b","sequence_number":2}\n\n',
  ]
  await rig.sims[0]?.faults.add({ kind: 'script', chunks, path: '/v1/responses' })
  const answer = await rig.post('/v1/responses', { model: 'alpha:8b', input: 'hi', stream: true })
  const text = await answer.text()
  assert.ok(text.startsWith(chunks.join('')))
  const [, event, data] =
    /event: (\S+)\ndata: (.*)\n\n$/.exec(text.slice(chunks.join('').length)) ?? []
  assert.equal(event, 'response.failed')
  const failed = JSON.parse(data ?? '') as { sequence_number: number; response: { status: string } }
  assert.equal(failed.sequence_number, 3)
  assert.equal(failed.response.status, 'failed')
  assert.equal(rig.gateway.parts.fleet.worker('node-1')?.rates.size, 0, 'nothing is learned of it')
})
