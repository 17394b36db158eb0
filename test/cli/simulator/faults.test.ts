// Each fault does to a client what its name says. A gateway test that switches a
// fault on and sees nothing wrong must be able to trust that something was.

import assert from 'node:assert/strict'
import { get } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import {
  startSimulatedWorker,
  type Fault,
  type SimulatedWorker,
} from '../../../src/cli/simulator/worker.ts'
import { send } from '../../support/raw-client.ts'
import { ask, chatBody, linesOf } from '../../support/sim-client.ts'
import { until } from '../../support/until.ts'

const MODELS = ['a:1b', 'b:1b']

const start = (
  options: Parameters<typeof startSimulatedWorker>[0] = {},
): Promise<SimulatedWorker> => startSimulatedWorker({ models: MODELS, ...options })

/** A worker with one fault, for the chat of model a. */
async function withFault(fault: Fault): Promise<SimulatedWorker> {
  const worker = await start()
  await worker.faults.add(fault)
  return worker
}

const chat = (worker: SimulatedWorker, more: Record<string, unknown> = {}) =>
  ask(worker.url, '/api/chat', chatBody('a:1b', more))

const rawChat = (worker: SimulatedWorker, stream = true) =>
  send(worker.port, {
    method: 'POST',
    path: '/api/chat',
    headers: [['Connection', 'close']],
    body: JSON.stringify(chatBody('a:1b', { stream })),
  }).answer

const codeOf = async (answer: Promise<unknown>): Promise<unknown> => {
  try {
    await answer
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
  return undefined
}

test('refuse: nobody listens until the fault is taken away', async () => {
  await using worker = await start({ control: true })
  const open = connect(worker.port, '127.0.0.1')
  const reset = new Promise((resolve) => open.once('error', resolve).once('close', resolve))
  await worker.waitFor('connection')
  const remove = await worker.faults.add({ kind: 'refuse' })
  await reset
  assert.equal(await codeOf(ask(worker.url, '/api/version').answer), 'ECONNREFUSED')
  const state = await ask(worker.controlUrl ?? '', '/_sim/state').answer
  assert.match(state.text, /"kind":"refuse"/u)
  await remove()
  assert.equal((await ask(worker.url, '/api/version').answer).status, 200)
})

test('refuse for a time: the worker comes back by itself', async () => {
  await using worker = await start()
  await worker.faults.add({ kind: 'refuse', ms: 50 })
  assert.equal(await codeOf(ask(worker.url, '/api/version').answer), 'ECONNREFUSED')
  await until(async () => (await ask(worker.url, '/api/version').answer).status === 200)
})

test('reset: no byte, and once when it is said once', async () => {
  await using worker = await withFault({ kind: 'reset', times: 1 })
  assert.equal(await codeOf(chat(worker).answer), 'ECONNRESET')
  assert.equal((await chat(worker).answer).status, 200)
})

test('reset on accept: before the request is read', async () => {
  await using worker = await withFault({ kind: 'reset', on: 'accept', times: 1 })
  assert.equal(await codeOf(chat(worker).answer), 'ECONNRESET')
  assert.equal(worker.record.requests().length, 0)
  assert.equal((await chat(worker).answer).status, 200)
})

test('silent: the request is taken and never answered', async () => {
  await using worker = await withFault({ kind: 'silent', path: '/api/chat' })
  const asked = chat(worker)
  await worker.waitFor('fault')
  assert.equal((await ask(worker.url, '/api/version').answer).status, 200)
  assert.equal(asked.received(), '')
  asked.leave()
  await worker.waitFor('peer-closed')
  assert.equal(worker.record.requests()[0]?.status, undefined)
})

test('silent_after_headers: a status and nothing more', async () => {
  await using worker = await withFault({ kind: 'silent_after_headers' })
  const asked = chat(worker)
  const headers = await asked.headers
  assert.equal(headers.statusCode, 200)
  assert.equal(headers.headers['content-type'], 'application/x-ndjson')
  assert.equal(asked.received(), '')
  asked.leave()
  await worker.waitFor('peer-closed')
})

test('slow_headers: also for what is not inference, as a blocked ps', async () => {
  await using worker = await withFault({ kind: 'slow_headers', ms: 60, path: '/api/ps' })
  const before = performance.now()
  await ask(worker.url, '/api/ps').answer
  assert.ok(performance.now() - before >= 55)
})

test('gap: silence between chunks', async () => {
  await using worker = await withFault({ kind: 'gap', ms: 30, after: 7 })
  const before = performance.now()
  const { text } = await chat(worker).answer
  assert.equal(linesOf(text).length, 9)
  assert.ok(performance.now() - before >= 55)
})

for (const how of ['fin', 'rst'] as const) {
  for (const after of [0, 1, 3]) {
    test(`cut with ${how} after ${after} chunks`, async () => {
      await using worker = await withFault({ kind: 'cut', after, how })
      const answer = await rawChat(worker)
      assert.equal(answer.status, 200)
      assert.equal(answer.chunks.length, after)
      assert.equal(answer.framing, 'chunked, not terminated')
    })
  }
}

test('stream_error: each dialect breaks in its own way', async () => {
  const message = 'an error was encountered while running the model: unexpected EOF'
  const openai = (line: string) => JSON.parse(line.slice('data: '.length)) as { model: string }
  const cases: [path: string, body: object, check: (chunks: readonly string[]) => void][] = [
    [
      '/api/chat',
      chatBody('a:1b'),
      (chunks) => assert.equal(chunks.at(-1), `{"error":"${message}"}\n`),
    ],
    [
      '/v1/chat/completions',
      chatBody('a:1b', { stream: true }),
      (chunks) => assert.equal(openai(chunks.at(-1) ?? '').model, ''),
    ],
    [
      '/v1/messages',
      chatBody('a:1b', { stream: true, max_tokens: 9 }),
      (chunks) => assert.equal(chunks.length, 2),
    ],
    [
      '/v1/responses',
      { model: 'a:1b', input: 'hi', stream: true },
      (chunks) => assert.equal(chunks.length, 2),
    ],
  ]
  for (const [path, body, check] of cases) {
    await using worker = await withFault({ kind: 'stream_error', after: 2 })
    const headers: [string, string][] = [['Connection', 'close']]
    const answer = await send(worker.port, {
      method: 'POST',
      path,
      headers,
      body: JSON.stringify(body),
    }).answer
    assert.equal(answer.framing, 'chunked', 'the end is clean')
    check(answer.chunks)
    assert.doesNotMatch(
      answer.chunks.join(''),
      /\[DONE\]|message_stop|response\.completed|"done":true/u,
    )
  }
})

test('stream_error before the first chunk is a status', async () => {
  await using worker = await withFault({ kind: 'stream_error', after: 0 })
  for (const stream of [true, false]) {
    const { status, text } = await chat(worker, { stream }).answer
    assert.equal(status, 500)
    assert.match(text, /unexpected EOF/u)
  }
})

test('no_terminator: a clean end that is not one', async () => {
  await using worker = await withFault({ kind: 'no_terminator' })
  const { text, complete } = await chat(worker).answer
  assert.equal(complete, true)
  assert.equal(linesOf(text).at(-1)?.['done'], false)
  const sse = await ask(worker.url, '/v1/chat/completions', chatBody('a:1b', { stream: true }))
    .answer
  assert.doesNotMatch(sse.text, /\[DONE\]|finish_reason":"/u)
})

test('status: any code, body and type, for some requests only', async () => {
  await using worker = await withFault({
    kind: 'status',
    status: 503,
    body: '<html>busy</html>',
    contentType: 'text/html',
    headers: { 'Retry-After': '7' },
    model: 'A:1B',
    path: '/api/*',
    times: 1,
  })
  assert.equal((await ask(worker.url, '/api/chat', chatBody('b:1b')).answer).status, 200)
  const { status, text, headers } = await chat(worker).answer
  assert.deepEqual(
    [status, text, headers['content-type'], headers['retry-after']],
    [503, '<html>busy</html>', 'text/html', '7'],
  )
  assert.equal((await chat(worker).answer).status, 200)
})

test('status with a body that never ends, or ends too soon', async () => {
  await using endless = await withFault({ kind: 'status', status: 500, body: 'x', endless: true })
  const asked = chat(endless)
  await until(() => asked.received().length > 3)
  asked.leave()
  await using short = await withFault({ kind: 'status', status: 500, body: 'half', short: 4 })
  const { text, complete } = await chat(short).answer
  assert.equal(text, 'half')
  assert.equal(complete, false)
})

test('version can be anything', async () => {
  await using worker = await withFault({
    kind: 'status',
    status: 200,
    body: '<html>login</html>',
    path: '/api/version',
  })
  assert.equal((await ask(worker.url, '/api/version').answer).text, '<html>login</html>')
})

test('script: exact chunks of a body, split anywhere', async () => {
  const bytes = Buffer.from('{"response":"ü"}\n')
  const chunks = [...bytes].map((byte) => ({ base64: Buffer.from([byte]).toString('base64') }))
  await using worker = await withFault({
    kind: 'script',
    headers: { 'Content-Type': 'application/x-ndjson' },
    chunks,
  })
  const answer = await rawChat(worker)
  assert.equal(answer.chunks.length, bytes.length)
  assert.equal(answer.framing, 'chunked')
  await using sized = await withFault({
    kind: 'script',
    chunks: ['ab', 'c'],
    framing: 'content-length',
    end: 'clean',
  })
  assert.deepEqual((await rawChat(sized)).chunks, ['abc'])
  await using close = await withFault({ kind: 'script', chunks: ['ab', 'c'], framing: 'close' })
  const untilClose = await rawChat(close)
  assert.equal(untilClose.framing, 'until close')
  assert.deepEqual(untilClose.chunks, ['abc'])
})

// What goes wrong in the simulation itself must be seen: a request that is never answered looks
// like a worker that is busy, and the gateway waits for it as long as it may.
test('a bug of the simulation ends the request, and nothing waits for it', async () => {
  await using worker = await withFault({
    kind: 'script',
    headers: { 'x-bad': 'one\ntwo' }, // Node refuses to send it
    chunks: ['x'],
  })
  const { status } = await chat(worker).answer
  assert.equal(status, 500)
})

test('a body of nothing but brackets is refused as by Go, whatever its depth', async () => {
  await using worker = await start()
  for (const depth of [12_000, 200_000]) {
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
    for (const path of ['/api/chat', '/v1/chat/completions', '/v1/messages', '/v1/responses']) {
      const body = `{"model":"a:1b","x":${deep}}`
      const answer = await fetch(`${worker.url}${path}`, { method: 'POST', body })
      const text = await answer.text()
      assert.equal(answer.status, 400, `${path} ${text}`)
      assert.match(text, /invalid character '.' exceeded max depth/)
    }
  }
})

test('script that hangs or is cut at its end', async () => {
  await using hanging = await withFault({ kind: 'script', chunks: ['a'], end: 'hang' })
  const asked = chat(hanging)
  await until(() => asked.received() === 'a')
  asked.leave()
  await using cut = await withFault({ kind: 'script', chunks: ['a'], end: 'rst' })
  assert.equal((await rawChat(cut)).framing, 'chunked, not terminated')
})

test('raw: exact bytes on the socket', async () => {
  const steps = [
    { send: 'HTTP/1.1 200 O' },
    { wait: 5 },
    { send: 'K\r\nContent-Length: 2\r\n\r\nhi' },
  ]
  await using worker = await withFault({ kind: 'raw', steps })
  const answer = await rawChat(worker)
  assert.equal(answer.statusLine, 'HTTP/1.1 200 OK')
  assert.deepEqual(answer.chunks, ['hi'])
  await using broken = await withFault({
    kind: 'raw',
    steps: [{ send: 'no http at all\r\n\r\n' }, { cut: 'rst' }],
  })
  assert.notEqual(await codeOf(chat(broken).answer), undefined)
})

test('load_failure: strikes the load, not what is loaded', async () => {
  await using worker = await start()
  await chat(worker).answer
  await worker.faults.add({
    kind: 'load_failure',
    message: 'unable to load full model on GPU',
    times: 1,
  })
  assert.equal((await chat(worker).answer).status, 200)
  const other = () => ask(worker.url, '/api/chat', chatBody('b:1b')).answer
  const failed = await other()
  assert.deepEqual(
    [failed.status, failed.text],
    [500, '{"error":"unable to load full model on GPU"}'],
  )
  assert.equal((await other()).status, 200)
})

test('out_of_memory: every loaded model goes', async () => {
  await using worker = await start()
  await chat(worker).answer
  await worker.faults.add({ kind: 'out_of_memory', model: 'b:1b' })
  const { status, text } = await ask(worker.url, '/api/chat', chatBody('b:1b')).answer
  assert.equal(status, 500)
  assert.match(text, /out-of-memory/u)
  assert.deepEqual(worker.scheduler.loaded(), [])
})

test('wedge: the permit is lost until the model is unloaded', async () => {
  await using worker = await withFault({ kind: 'wedge', times: 1 })
  assert.equal((await chat(worker).answer).status, 200)
  const stuck = chat(worker)
  await worker.waitFor('slot-wait', { count: 2 })
  assert.equal(worker.scheduler.loaded()[0]?.waiting, 1)
  assert.equal((await ask(worker.url, '/api/version').answer).status, 200)
  stuck.leave()
  await worker.waitFor('peer-closed')
  await ask(worker.url, '/api/generate', { model: 'a:1b', keep_alive: 0 }).answer
  assert.equal((await chat(worker).answer).status, 200)
})

test('gzip: said and not said', async () => {
  for (const declared of [true, false]) {
    await using worker = await withFault({ kind: 'gzip', declared })
    const { promise, resolve, reject } = Promise.withResolvers<[unknown, Buffer]>()
    get(`${worker.url}/api/tags`, { agent: false }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => resolve([res.headers['content-encoding'], Buffer.concat(chunks)]))
    }).on('error', reject)
    const [encoding, body] = await promise
    assert.equal(encoding, declared ? 'gzip' : undefined)
    assert.match(gunzipSync(body).toString(), /"models":/u)
  }
})

test('idle_close: a kept-alive connection is closed while it is idle', async () => {
  await using worker = await withFault({ kind: 'idle_close', ms: 20 })
  const socket = connect(worker.port, '127.0.0.1')
  socket.write('GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const text = await new Promise<string>((resolve) => {
    let received = ''
    socket.on('data', (chunk) => (received += chunk.toString()))
    socket.on('end', () => resolve(received))
  })
  assert.match(text, /0\.33\.0/u)
  assert.doesNotMatch(text, /connection: close/iu)
})

test('huge_line: two megabytes without a line end', async () => {
  await using worker = await withFault({ kind: 'huge_line' })
  const generated = await ask(worker.url, '/api/generate', { model: 'a:1b', prompt: 'hi' }).answer
  const last = generated.text.trim().split('\n').at(-1) ?? ''
  assert.ok(last.length > 2_000_000)
  assert.equal((JSON.parse(last) as { done: boolean }).done, true)
  const lines = (await chat(worker).answer).text.split('\n')
  assert.ok((lines[0]?.length ?? 0) > 2_000_000)
})

test('echo and empty', async () => {
  await using echo = await withFault({ kind: 'echo' })
  const body = chatBody('a:1b', { odd: 'ü<>' })
  assert.equal((await ask(echo.url, '/api/chat', body).answer).text, JSON.stringify(body))
  await using empty = await withFault({ kind: 'empty' })
  const { status, text, headers } = await chat(empty).answer
  assert.deepEqual([status, text, headers['content-length']], [200, '', '0'])
})

test('die: everything is gone at once, and for good', async () => {
  let died = false
  await using worker = await start({ onDie: () => (died = true) })
  await worker.faults.add({ kind: 'die', after: 2 })
  const answer = await rawChat(worker)
  assert.equal(answer.framing, 'chunked, not terminated')
  assert.equal(answer.chunks.length, 2)
  assert.equal(died, true)
  await until(async () => (await codeOf(ask(worker.url, '/api/version').answer)) === 'ECONNREFUSED')
})

test('kill_runner: the stream breaks and the model has to be loaded again', async () => {
  await using worker = await withFault({ kind: 'kill_runner', after: 2, times: 1 })
  const lines = linesOf((await chat(worker).answer).text)
  assert.equal(lines.length, 3)
  assert.ok('error' in (lines.at(-1) ?? {}))
  assert.equal((await chat(worker).answer).status, 200)
  await worker.waitFor('load-ended', { count: 2 })
})

test('answer: scripted words, thoughts and tool calls', async () => {
  await using worker = await start({ models: ['qwen3:8b'] })
  await worker.faults.add({
    kind: 'answer',
    thinking: ['hm'],
    content: ['It ', 'rains'],
    toolCalls: [{ name: 'weather', arguments: { city: 'Köln' } }],
    promptTokens: 11,
  })
  const native = linesOf((await ask(worker.url, '/api/chat', chatBody('qwen3:8b')).answer).text)
  assert.equal(native.length, 5)
  assert.match(
    JSON.stringify(native[3]),
    /"function":\{"index":0,"name":"weather","arguments":\{"city":"Köln"\}\}/u,
  )
  assert.equal(native[4]?.['prompt_eval_count'], 11)
  const openai = await ask(worker.url, '/v1/chat/completions', chatBody('qwen3:8b')).answer
  assert.match(openai.text, /"finish_reason":"tool_calls"/u)
  const anthropic = await ask(worker.url, '/v1/messages', chatBody('qwen3:8b', { max_tokens: 9 }))
    .answer
  assert.match(anthropic.text, /"stop_reason":"tool_use"/u)
})

test('drip: a chunk in pieces of one byte', async () => {
  await using worker = await withFault({ kind: 'drip', bytes: 1 })
  const answer = await rawChat(worker, false)
  assert.ok(answer.chunks.length > 100)
  assert.equal((JSON.parse(answer.chunks.join('')) as { done: boolean }).done, true)
})

test('the inventory changes behind a gateway', async () => {
  await using worker = await start()
  worker.models.setDigest('a:1b', 'f'.repeat(64))
  worker.models.remove('b:1b')
  const { models } = JSON.parse((await ask(worker.url, '/api/tags').answer).text) as {
    models: { digest: string }[]
  }
  assert.deepEqual(
    models.map(({ digest }) => digest),
    ['f'.repeat(64)],
  )
  assert.equal((await ask(worker.url, '/api/chat', chatBody('b:1b')).answer).status, 404)
})
