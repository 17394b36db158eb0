// Traps that clients are known to fall into, each one test, whoever the client is.
//
// Others of the same list are held elsewhere, where the thing itself is tested: JWTs in
// test/gateway/access/identity.test.ts; keys in paths and logs in
// test/gateway/flows/credentials.test.ts; `[N/A]`, NaN and sentinels of GPUs in
// test/gateway/fleet/telemetry; scrapes of many series in test/bench/scrape.bench.ts; reloads in
// test/gateway/config/reload.test.ts; sockets left behind in test/gateway/admin/socket.test.ts;
// interim answers of workers in test/gateway/proxy/attempt.test.ts; draining beside a stream in
// test/gateway/proxy/server.test.ts; uploads of blobs in test/gateway/flows/refused-routes.test.ts.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { suite, test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { eventsOf, linesOf } from '../support/answer-checks.ts'
import { send } from '../support/raw-client.ts'
import { replay } from '../support/recorded-clients.ts'
import type { Answer } from '../support/recorded-clients.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import { MODEL, startStage } from './bench-of-clients.ts'

const messages = [{ role: 'user', content: 'hi' }]
const CHAT = { model: MODEL, messages }
const HF = 'hf.co/unsloth/Tiny-GGUF:Q4_K_M'
const STREAMED = { ...CHAT, stream: true, max_tokens: 9 }
type Headers = [string, string][]

const ask = (
  rig: Rig,
  path: string,
  { method = 'GET', headers = [], body }: { method?: string; headers?: Headers; body?: object },
): Promise<Answer> =>
  replay(rig.port, {
    method,
    path,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  })

const post = (rig: Rig, path: string, body: object, headers: Headers = []): Promise<Answer> =>
  ask(rig, path, { method: 'POST', headers, body })

suite('names and probes', () => {
  test('a worker with a short digest and a version with a suffix does not break ollama ls', async () => {
    await using rig = await startRig({
      workers: [{ version: '0.33.0-rc2', models: [{ name: 'm:1b', digest: 'abc' }] }],
    })
    const { models } = (await ask(rig, '/api/tags', {})).json<{ models: { digest: string }[] }>()
    assert.ok(
      models.every(({ digest }) => digest.length >= 12),
      JSON.stringify(models),
    )
    const { version } = (await ask(rig, '/api/version', {})).json<{ version: string }>()
    // Open WebUI cuts at the dash and reads whole numbers.
    assert.match(version.replace(/-.*/, ''), /^\d+\.\d+\.\d+$/)
  })

  test('show by name and by model, tags left out, any case', async () => {
    await using rig = await startRig({ workers: [{ models: ['m:latest', HF] }] })
    for (const named of ['m', 'm:latest', 'M', HF, HF.toLowerCase()]) {
      for (const field of ['name', 'model']) {
        const { status, text } = await post(rig, '/api/show', { [field]: named })
        assert.equal(status, 200, `${field} ${named} ${text}`)
      }
      const answer = await post(rig, '/api/chat', { model: named, messages })
      assert.equal(answer.status, 200, `${named} ${answer.text}`)
    }
  })

  test('ids with slashes, raw and encoded', async () => {
    await using rig = await startRig({ workers: [{ models: [HF] }] })
    for (const id of [HF, encodeURIComponent(HF)]) {
      const answer = await ask(rig, `/v1/models/${id}`, {})
      assert.equal(answer.status, 200, answer.text)
      assert.equal(answer.json<{ id: string }>().id, HF)
    }
  })

  test('HEAD on every probe', async () => {
    await using rig = await startStage()
    for (const path of ['/', '/api/version', '/api/tags', '/api/hello', '/k/some-key/']) {
      const { status, text } = await ask(rig, path, { method: 'HEAD' })
      assert.deepEqual({ path, status, text }, { path, status: 200, text: '' })
    }
  })

  test('?beta=true is no other path', async () => {
    await using rig = await startStage()
    const answer = await post(rig, '/v1/messages?beta=true', { ...CHAT, max_tokens: 5 })
    assert.equal(answer.status, 200, answer.text)
    const seen = rig.sims.flatMap((sim) => [...sim.record.requests({ path: '/v1/messages' })])
    assert.equal(seen.length, 1)
  })

  test('a page may ask with the headers of Anthropic', async () => {
    await using rig = await startStage({ config: { cors: { origins: ['https://app.example'] } } })
    const wanted =
      'x-api-key, anthropic-version, anthropic-beta, anthropic-dangerous-direct-browser-access'
    const answer = await ask(rig, '/v1/messages', {
      method: 'OPTIONS',
      headers: [
        ['Origin', 'https://app.example'],
        ['Access-Control-Request-Method', 'POST'],
        ['Access-Control-Request-Headers', wanted],
      ],
    })
    assert.equal(answer.status, 204)
    const granted = answer.header('access-control-allow-headers')?.toLowerCase() ?? ''
    for (const name of wanted.split(', ')) assert.ok(granted.includes(name), name)
  })
})

suite('credentials', () => {
  test('the key that `ollama launch` makes up is none', async () => {
    await using rig = await startStage()
    for (const headers of [
      [['authorization', 'Bearer ollama']],
      [['x-api-key', 'ollama']],
      [
        ['authorization', 'Bearer one'],
        ['x-api-key', 'another'],
      ],
    ] satisfies Headers[]) {
      assert.equal((await post(rig, '/api/chat', CHAT, headers)).status, 200)
    }
  })

  test('of two keys that differ, the Bearer counts', async () => {
    await using rig = await startStage({ config: { auth: { mode: 'keys' } } })
    const draft = { tenant: 'default', scope: 'infer', expires_ms: null, actor: 'test' } as const
    const lists = { allowed_models: ['*'], denied_models: [], trust_identity_headers: false }
    const { key } = await rig.gateway.access.keys.create({ ...draft, ...lists })
    const reader = await rig.gateway.access.keys.create({ ...draft, ...lists, scope: 'read' })
    const both = (bearer: string, other: string): Headers => [
      ['authorization', `Bearer ${bearer}`],
      ['x-api-key', other],
    ]
    const first = await post(rig, '/v1/messages', STREAMED, both(key, reader.key))
    const second = await post(rig, '/v1/messages', STREAMED, both(reader.key, key))
    assert.deepEqual([first.status, second.status], [200, 403])
  })
})

suite('loads, unloads and management', () => {
  test('every spelling of keep_alive 0 unloads; a negative one keeps', async () => {
    await using rig = await startStage()
    const count = (): number => rig.sims.reduce((sum, s) => sum + s.scheduler.loaded().length, 0)
    for (const spelling of [0, '0', '0s', '0m']) {
      const loaded = await post(rig, '/api/generate', { model: MODEL })
      assert.equal(loaded.json<{ done_reason: string }>().done_reason, 'load')
      assert.equal(count(), 1)
      await until(
        () =>
          rig.gateway.parts.fleet.workers().some(({ loaded: known }) => {
            return known.state === 'known' && known.models.size > 0
          }),
        { timeoutMs: 10_000, what: 'ps to tell of the model' },
      )
      const answer = await post(rig, '/api/generate', { model: MODEL, keep_alive: spelling })
      assert.equal(answer.json<{ done_reason: string }>().done_reason, 'unload', String(spelling))
      await until(() => count() === 0, { what: 'the model to be gone' })
    }
    await post(rig, '/api/generate', { model: MODEL, keep_alive: -1 })
    assert.equal(count(), 1)
  })

  test('a chat goes where its model was loaded a moment before', async () => {
    await using rig = await startStage()
    const load = await post(rig, '/api/generate', { model: MODEL })
    const chat = await post(rig, '/api/chat', CHAT)
    assert.ok(chat.header('x-ogw-worker'))
    assert.equal(chat.header('x-ogw-worker'), load.header('x-ogw-worker'))
  })

  test('a 404 of show leads to a pull, which is a 403 with its reason', async () => {
    await using rig = await startStage()
    assert.equal((await post(rig, '/api/show', { model: 'nope' })).status, 404)
    const pull = await post(rig, '/api/pull', { name: 'nope' })
    assert.equal(pull.status, 403)
    assert.match(pull.json<{ error: string }>().error, /manage/)
  })

  test('DELETE with a body is read to its end', async () => {
    await using rig = await startStage()
    const headers: Headers = [['Content-Type', 'application/json']]
    const body = { model: MODEL }
    const answer = await ask(rig, '/api/delete', { method: 'DELETE', headers, body })
    assert.equal(answer.status, 403)
    assert.match(answer.type, /^application\/json/)
  })

  test('a compressed body is refused politely, or read: zstd as a real one reads it', async () => {
    await using rig = await startStage()
    const text = JSON.stringify({ ...CHAT, stream: false })
    const sent = async (path: string, encoding: string, body: Buffer): Promise<Response> => {
      const headers = { 'content-encoding': encoding }
      return await fetch(`${rig.url}${path}`, { method: 'POST', headers, body })
    }
    for (const path of ['/api/chat', '/v1/chat/completions', '/v1/messages']) {
      const answer = await sent(path, 'gzip', gzipSync(text))
      assert.equal(answer.status, 415)
      assert.match(JSON.stringify(await answer.json()), /gzip/)
    }
    const read = await sent('/v1/chat/completions', 'zstd', zstdCompressSync(text))
    assert.equal(read.status, 200, await read.text())
    const native = await sent('/api/chat', 'zstd', zstdCompressSync(text))
    assert.equal(native.status, 415, await native.text())
  })
})

suite('what goes over the wire', () => {
  test('a whole answer has its length and one date, and the worker its own Host', async () => {
    await using rig = await startStage()
    const { answer } = send(rig.port, {
      method: 'POST',
      path: '/api/chat',
      host: 'localhost',
      headers: [
        ['Connection', 'close, X-Private'],
        ['X-Private', 'hop'],
        ['TE', 'trailers'],
      ],
      body: JSON.stringify({ ...CHAT, stream: false }),
    })
    const { headers } = await answer
    const count = (name: string): number =>
      headers.filter(([header]) => header.toLowerCase() === name).length
    assert.deepEqual([count('content-length'), count('date')], [1, 1])
    assert.equal(count('transfer-encoding'), 0)
    const [seen] = rig.sims.flatMap((sim) => [...sim.record.requests({ path: '/api/chat' })])
    const sent = JSON.stringify(seen?.headers).toLowerCase()
    assert.ok(!sent.includes('localhost') && !sent.includes('x-private'), sent)
  })

  const TOLD: [path: string, told: (answer: Answer) => unknown][] = [
    ['/api/chat', (answer) => linesOf(answer).at(-1)?.['error']],
    ['/v1/chat/completions', (answer) => eventsOf(answer).at(-1)?.data.startsWith('{"error"')],
    ['/v1/messages', (answer) => eventsOf(answer).at(-1)?.event === 'error'],
  ]
  for (const [path, told] of TOLD) {
    test(`${path}: a stream that breaks is told in its dialect, and then ends`, async () => {
      await using rig = await startStage()
      for (const sim of rig.sims) await sim.faults.add({ kind: 'cut', after: 2, how: 'fin', path })
      const answer = await post(rig, path, STREAMED)
      assert.equal(answer.status, 200)
      assert.ok(told(answer), answer.text)
      assert.ok(!answer.text.includes('[DONE]') && !answer.text.includes('message_stop'))
    })
  }

  test('SSE clients that wait hear of it, NDJSON clients never see a blank line', async () => {
    await using rig = await startRig({
      workers: [{ models: [MODEL], slots: 1, tokens: 30, tokenMs: 80 }],
      workerConfig: { max_concurrent: 1 },
      config: { admission: { heartbeat: '1s' } },
    })
    const first = post(rig, '/api/chat', CHAT)
    await until(() => rig.gateway.parts.active.size === 1, { what: 'the first to run' })
    const [sse, lines] = [post(rig, '/v1/chat/completions', STREAMED), post(rig, '/api/chat', CHAT)]
    linesOf(await first)
    linesOf(await lines)
    assert.match((await sse).text, /^: /)
    assert.equal(eventsOf(await sse).at(-1)?.data, '[DONE]')
  })

  test('a client that leaves while it waits, loads or streams leaves nothing behind', async () => {
    for (const loadMs of [1, 5000]) {
      await using rig = await startRig({
        workers: [{ models: [MODEL], slots: 1, loadMs, tokens: 1000, tokenMs: 20 }],
        workerConfig: { max_concurrent: 1 },
      })
      const leaving = [0, 1].map(() => {
        const sent = request(`${rig.url}/api/chat`, { method: 'POST', agent: false })
        sent.on('error', () => undefined)
        sent.end(JSON.stringify(CHAT))
        return sent
      })
      await until(() => rig.gateway.parts.scheduler.waitingCount() === 1, { what: 'one waits' })
      if (loadMs === 1) await Promise.race(leaving.map((sent) => once(sent, 'response')))
      for (const sent of leaving) sent.destroy()
      await rig.quiet()
    }
  })

  test('30 chats at once, as Open WebUI allows itself', async () => {
    await using rig = await startStage()
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => post(rig, '/api/chat', { ...CHAT, stream: true })),
    )
    for (const answer of answers) assert.equal(linesOf(answer).at(-1)?.['done'], true)
  })
})
