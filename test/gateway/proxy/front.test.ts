// The client's side without inference: a real server, a real guard and real routes, over workers
// whose records are made by hand. Nothing here can reach a worker, so nothing can wait for one.

import assert from 'node:assert/strict'
import { request } from 'node:http'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { NOBODY } from '../../../src/gateway/access/visitor.ts'
import { compileOrigins } from '../../../src/gateway/access/http-guard.ts'
import { GatewayError } from '../../../src/gateway/errors.ts'
import type { Worker } from '../../../src/gateway/fleet/worker.ts'
import { parseModelName } from '../../../src/gateway/policy/model-name.ts'
import { sendAnswer } from '../../../src/gateway/proxy/answer.ts'
import { handleCountTokens } from '../../../src/gateway/proxy/handle-count-tokens.ts'
import { createDiscovery } from '../../../src/gateway/proxy/handle-discovery.ts'
import { handleRequest } from '../../../src/gateway/proxy/handle-request.ts'
import { handleShow } from '../../../src/gateway/proxy/handle-show.ts'
import type { ShowDeps } from '../../../src/gateway/proxy/handle-show.ts'
import { HIDDEN_AFTER_MS } from '../../../src/gateway/proxy/merged-models.ts'
import type { RequestContext } from '../../../src/gateway/proxy/request-context.ts'
import { createClientServer } from '../../../src/gateway/proxy/server.ts'
import { aWorker, DIGEST, down, installed, loadedModel } from '../../support/worker-records.ts'
import { setInstalled } from '../../support/worker-records.ts'

interface Reply {
  status: number
  headers: IncomingHttpHeaders
  raw: string[]
  text: string
}

interface Asking {
  headers?: OutgoingHttpHeaders
  body?: string | Buffer
}

interface Rig extends AsyncDisposable {
  ask(line: string, asking?: Asking): Promise<Reply>
  /** Monotonic time as the discovery sees it. */
  now: number
  shows: [worker: string, model: string, verbose: boolean][]
}

const ALIASES: Readonly<Record<string, string>> = { 'gpt-4o': 'chat' }

async function startRig(workers: readonly Worker[], show?: ShowDeps['show']): Promise<Rig> {
  const clock = { now: () => 0, mono: () => rig.now, after: () => ({ cancel: () => {} }) }
  const readName = (raw: string) => parseModelName(ALIASES[raw] ?? raw)
  const discovery = createDiscovery({
    clock,
    workers: () => workers,
    readName,
    aliases: () => ({}),
  })
  const shows: Rig['shows'] = []
  const showDeps: ShowDeps = {
    workers: () => workers,
    readName,
    readJson,
    show: (worker, model, verbose) => {
      shows.push([worker.name, model, verbose])
      return show?.(worker, model, verbose) ?? Promise.resolve({ ok: false, error: 'silent' })
    },
  }
  const server = createClientServer({
    clock,
    onBug: (_, error) => assert.fail(error as Error),
    handle: (ctx) =>
      handleRequest(
        {
          guard: () => ({
            checkHost: true,
            allowedHosts: new Set(),
            hostname: 'box',
            isOwnAddress: () => false,
            origins: compileOrigins([]),
          }),
          admit: (_ctx, need) => {
            if (need.scope === 'manage') throw new GatewayError({ code: 'forbidden', detail: '' })
            return NOBODY
          },
          handleManagement: () => assert.fail('nobody may'),
          handleInference: (inference, dialect) =>
            sendAnswer(inference, { status: 200, headers: {}, body: dialect.name }),
          handleDiscovery: (discovered, name) => discovery.handle(discovered, name),
          handleModel: (discovered, id) => discovery.handleModel(discovered, id),
          handleShow: (shown) => handleShow(showDeps, shown),
          handleCountTokens: (counted) =>
            handleCountTokens({ readJson, tokensPerImage: () => 1000 }, counted),
        },
        ctx,
      ),
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  const rig: Rig = {
    now: 0,
    shows,
    ask: (line, asking = {}) => send(port, line, asking),
    [Symbol.asyncDispose]: async () => void (await server.stop(0)),
  }
  return rig
}

async function readJson(ctx: RequestContext): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of ctx.req) text += String(chunk)
  if (text === '')
    throw new GatewayError({ code: 'invalid_request', detail: 'missing request body' })
  return JSON.parse(text) as Record<string, unknown>
}

function send(port: number, line: string, { headers = {}, body }: Asking): Promise<Reply> {
  const [method = 'GET', path = '/'] = line.split(' ')
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  // Node's own client frames no body of a DELETE by itself.
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
  const options = { host: '127.0.0.1', port, method, path, headers: { ...headers, ...length } }
  const req = request({ ...options, agent: false }, (res) => {
    let text = ''
    res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    res.on('end', () =>
      resolve({ status: res.statusCode ?? 0, headers: res.headers, raw: res.rawHeaders, text }),
    )
  })
  req.on('error', reject).end(body)
  return promise
}

const chat = (): Worker =>
  aWorker({
    name: 'node-1',
    version: '0.33.0',
    installed: [installed('chat:latest')],
    loaded: [loadedModel('chat:latest')],
  })

const DETAILS =
  '"parent_model":"","format":"gguf","family":"llama","families":["llama"],"parameter_size":"151K","quantization_level":"unknown"'
const TAGS_ROW = `{"name":"chat:latest","model":"chat:latest","modified_at":"2026-11-30T01:54:11.771636691Z","size":620239,"digest":"${DIGEST}","details":{${DETAILS},"context_length":8192,"embedding_length":64},"capabilities":["completion","tools"]}`
const PS_ROW = `{"name":"chat:latest","model":"chat:latest","size":7958691,"digest":"${DIGEST}","details":{${DETAILS}},"expires_at":"2026-11-30T02:01:24.057762018Z","size_vram":0,"context_length":4096}`
const JSON_UTF8 = 'application/json; charset=utf-8'

// Recorded from a real Ollama 0.33.0: status, content type, body.
const real: [line: string, status: number, type: string | undefined, body: string][] = [
  ['GET /', 200, 'text/plain; charset=utf-8', 'Ollama is running'],
  ['GET /api/version', 200, JSON_UTF8, '{"version":"0.33.0"}'],
  ['GET /api/status', 200, JSON_UTF8, '{"cloud":{"disabled":true,"source":"config"}}'],
  ['GET /api/tags', 200, JSON_UTF8, `{"models":[${TAGS_ROW}]}`],
  ['GET /api/ps', 200, JSON_UTF8, `{"models":[${PS_ROW}]}`],
  ['GET /api/nope', 404, 'text/plain', '404 page not found'],
  ['POST /v1/nope', 404, 'text/plain', '404 page not found'],
  ['POST /v1/images/generations', 404, 'text/plain', '404 page not found'],
  ['GET /api/chat', 405, 'text/plain', '405 method not allowed'],
  ['POST /api/tags', 405, 'text/plain', '405 method not allowed'],
  // What a real one redirects is served: a redirect loses the body of a POST.
  ['GET //api/version', 200, JSON_UTF8, '{"version":"0.33.0"}'],
  ['GET /api/version/', 200, JSON_UTF8, '{"version":"0.33.0"}'],
  ['POST //api/chat', 200, undefined, 'ollama'],
  ['POST /v1/messages?beta=true', 200, undefined, 'anthropic'],
  ['GET /k/SECRET/api/version', 200, JSON_UTF8, '{"version":"0.33.0"}'],
  ['GET /api/experimental/model-recommendations', 200, JSON_UTF8, '{"recommendations":[]}'],
]

test('what a real Ollama answers, byte for byte', async () => {
  await using rig = await startRig([chat()])
  for (const [line, status, type, body] of real) {
    const reply = await rig.ask(line)
    assert.deepEqual(
      [reply.status, reply.headers['content-type'], reply.text],
      [status, type, body],
      line,
    )
    assert.equal(Number(reply.headers['content-length']), Buffer.byteLength(body), line)
  }
  assert.equal((await rig.ask('POST /api/tags')).headers.allow, 'HEAD, GET')
})

test('HEAD has the head of GET and no body', async () => {
  await using rig = await startRig([chat()])
  for (const path of ['/', '/api/version', '/api/tags', '/k/SECRET/']) {
    const [head, get] = [await rig.ask(`HEAD ${path}`), await rig.ask(`GET ${path}`)]
    assert.equal(head.status, 200, path)
    assert.equal(head.text, '')
    assert.equal(head.headers['content-length'], get.headers['content-length'])
  }
  assert.equal((await rig.ask('HEAD /api/hello')).status, 200)
  assert.equal((await rig.ask('HEAD /api/ps')).status, 405)
})

// T34: clients iterate over what they get.
test('lists of an empty fleet are empty lists, and the version is the tested one', async () => {
  await using rig = await startRig([aWorker({ name: 'node-1' })])
  assert.equal((await rig.ask('GET /api/tags')).text, '{"models":[]}')
  assert.equal((await rig.ask('GET /api/ps')).text, '{"models":[]}')
  assert.match((await rig.ask('GET /v1/models')).text, /"data":\[\]/)
  assert.equal((await rig.ask('GET /api/version')).text, '{"version":"0.33.0"}')
})

// B098, B110: workers that are down cost neither a 500 nor a wait; the client can see the gap.
test('lists are answered while every worker is down, with a header that says so', async () => {
  const worker = down(aWorker({ name: 'node-1', installed: [installed('chat:latest')] }), 0)
  await using rig = await startRig([worker])
  for (const path of ['/api/tags', '/api/ps', '/v1/models']) {
    const reply = await rig.ask(`GET ${path}`)
    assert.equal(reply.status, 200, path)
    assert.equal(
      reply.headers['x-ogw-warning'],
      'the list may be incomplete: worker node-1 is down',
    )
  }
  assert.equal((await rig.ask('GET /api/tags')).text, `{"models":[${TAGS_ROW}]}`)
  rig.now = HIDDEN_AFTER_MS
  assert.equal((await rig.ask('GET /api/tags')).text, '{"models":[]}')
  assert.equal((await rig.ask('GET /v1/models/chat')).status, 404)
})

// The cache must not outlive what it was made of.
test('a list follows inventory and placement', async () => {
  const worker = aWorker({ name: 'node-1', installed: [installed('chat:latest')] })
  await using rig = await startRig([worker])
  const first = await rig.ask('GET /api/tags')
  assert.equal((await rig.ask('GET /api/tags')).text, first.text)
  setInstalled(worker, [installed('other:1b')])
  assert.match((await rig.ask('GET /api/tags')).text, /other:1b/)
  worker.placement = aWorker({ name: 'x', placement: { mode: 'whitelist' } }).placement
  assert.equal((await rig.ask('GET /api/tags')).text, '{"models":[]}')
})

test('/v1/models/{id} knows every spelling, slashes raw or encoded, and aliases', async () => {
  const names = ['chat:latest', 'hf.co/unsloth/Qwen3:Q4']
  await using rig = await startRig([
    aWorker({ name: 'node-1', installed: names.map((name) => installed(name)) }),
  ])
  const ids = [
    'chat',
    'CHAT:latest',
    'library/chat',
    'library%2Fchat',
    'gpt-4o',
    'hf.co/unsloth/qwen3:q4',
  ]
  for (const id of ids) {
    const reply = await rig.ask(`GET /v1/models/${id}`)
    const body = JSON.parse(reply.text) as { id: string; object: string }
    assert.equal(reply.status, 200, id)
    assert.equal(body.id, decodeURIComponent(id))
    assert.equal(body.object, 'model')
  }
  const missing = await rig.ask('GET /v1/models/nope')
  assert.equal(missing.status, 404)
  assert.deepEqual(JSON.parse(missing.text), {
    error: {
      message: "model 'nope:latest' not found",
      type: 'not_found_error',
      param: null,
      code: null,
    },
  })
  const anthropic = await rig.ask('GET /v1/models/nope', { headers: { 'anthropic-version': 'x' } })
  assert.equal((JSON.parse(anthropic.text) as { type: string }).type, 'error')
})

// B093: a wrong base URL is the first mistake of everyone; a bare 404 does not help.
test('a base URL with a prefix too many or too few gets a hint in the fitting dialect', async () => {
  await using rig = await startRig([chat()])
  const native = await rig.ask('POST /v1/api/generate')
  assert.equal(native.status, 404)
  const { error } = JSON.parse(native.text) as { error: string }
  assert.match(error, /the path is \/api\/generate: take "\/v1" off the end of the base URL/)
  const openai = await rig.ask('POST /chat/completions')
  assert.match(openai.text, /"message":"[^"]+ add \\"\/v1\\" to the end of the base URL"/)
  const anthropic = await rig.ask('POST /v1/v1/messages')
  assert.match(anthropic.text, /^\{"type":"error","error":\{"type":"not_found_error"/)
  assert.equal((await rig.ask('POST /api/v1/chat/completions')).status, 404)
})

test('management is refused with 403 that says why, also in the middle of an upload', async () => {
  await using rig = await startRig([chat()])
  const upload = Buffer.alloc(8 * 1024 * 1024)
  const lines = ['POST /api/pull', 'POST /api/push', 'POST /api/create', 'POST /api/copy']
  for (const line of [...lines, 'DELETE /api/delete', 'POST /api/blobs/sha256:00']) {
    const reply = await rig.ask(line, { body: line.includes('blobs') ? upload : '{"name":"x"}' })
    assert.equal(reply.status, 403, line)
    assert.equal(reply.headers['content-type'], JSON_UTF8)
    assert.match(reply.text, /^\{"error":"\w+ing model[^"]+ not allowed through this gateway/, line)
  }
  const head = await rig.ask('HEAD /api/blobs/sha256:00')
  assert.deepEqual([head.status, head.text], [403, ''])
  assert.equal((await rig.ask('POST /api/experimental/web_search')).status, 403)
  assert.equal((await rig.ask('POST /api/signout')).status, 403)
  assert.equal((await rig.ask('DELETE /api/user/keys/x')).status, 403)
  const me = await rig.ask('POST /api/me')
  assert.equal(me.status, 404)
  assert.match(me.text, /^\{"error":/)
})

const acao = (reply: Reply): string[] =>
  reply.raw.filter(
    (_, index) => reply.raw[index - 1]?.toLowerCase() === 'access-control-allow-origin',
  )

// B127: exactly one, on every answer, and none for pages that may not come.
test('CORS on answers, errors and preflights', async () => {
  await using rig = await startRig([chat()])
  const headers = { origin: 'http://localhost:3000' }
  for (const line of [
    'GET /api/version',
    'GET /api/nope',
    'POST /api/pull',
    'GET /v1/models/nope',
  ]) {
    const reply = await rig.ask(line, { headers })
    assert.deepEqual(acao(reply), [headers.origin], line)
    assert.equal(reply.headers.vary, 'Origin')
  }
  const asked = 'authorization, x-api-key, anthropic-version'
  const preflight = await rig.ask('OPTIONS /v1/messages', {
    headers: { ...headers, 'access-control-request-headers': asked },
  })
  assert.equal(preflight.status, 204)
  assert.deepEqual(acao(preflight), [headers.origin])
  assert.equal(preflight.headers['access-control-allow-headers'], asked)

  for (const line of ['GET /api/version', 'OPTIONS /v1/messages', 'POST /api/chat']) {
    const foreign = await rig.ask(line, { headers: { origin: 'https://example.com' } })
    assert.deepEqual([foreign.status, foreign.text, acao(foreign)], [403, '', []], line)
  }
  assert.deepEqual(acao(await rig.ask('GET /api/version')), [])
  const plain = await rig.ask('OPTIONS /api/chat')
  assert.deepEqual([plain.status, plain.headers.allow], [204, 'POST'])
})

test('a foreign Host is refused before anything is looked at', async () => {
  await using rig = await startRig([chat()])
  const reply = await rig.ask('GET /api/version', { headers: { host: 'evil.example' } })
  assert.deepEqual([reply.status, reply.text], [403, ''])
})

const shown = (status: number, text: string) =>
  Promise.resolve({ ok: true as const, status, body: Buffer.from(text) })
const show = (body: object): Asking => ({ body: JSON.stringify(body) })

test('show passes the first owner’s own answer on', async () => {
  const workers = [
    aWorker({ name: 'without', installed: [] }),
    down(aWorker({ name: 'asleep', installed: [installed('chat:latest')] }), 0),
    aWorker({ name: 'owner', installed: [installed('chat:latest')] }),
  ]
  await using rig = await startRig(workers, () => shown(200, '{"license":"x"}'))
  for (const body of [
    { model: 'chat' },
    { name: 'CHAT' },
    { model: '', name: 'chat' },
    { model: 'gpt-4o' },
  ]) {
    const reply = await rig.ask('POST /api/show', show(body))
    assert.deepEqual([reply.status, reply.text], [200, '{"license":"x"}'])
    assert.equal(reply.headers['content-type'], JSON_UTF8)
  }
  await rig.ask('POST /api/show', show({ model: 'chat', verbose: true }))
  assert.deepEqual(rig.shows.at(0), ['owner', 'chat:latest', false])
  assert.deepEqual(rig.shows.at(-1), ['owner', 'chat:latest', true])
  assert.equal(rig.shows.length, 5)
})

const showFaults: [body: object | undefined, status: number, error: RegExp][] = [
  [undefined, 400, /^missing request body$/],
  [{}, 400, /^model is required$/],
  [{ model: '', name: '' }, 400, /^model is required$/],
  [{ model: 7 }, 400, /^model is required$/],
  [{ model: 'a b' }, 400, /^invalid model name$/],
  [{ model: 'nope' }, 404, /^model 'nope:latest' not found$/],
  [{ model: 'blocked' }, 403, /node-1: placement rule deny blocked:latest/],
  [{ model: 'big:cloud' }, 403, /cloud/],
]

test('show words its refusals as a real one does, and a blocked model is no missing one', async () => {
  const worker = aWorker({
    name: 'node-1',
    placement: { denied_models: ['blocked'] },
    installed: [installed('chat:latest'), installed('blocked:latest')],
  })
  await using rig = await startRig([worker], () => shown(200, '{}'))
  for (const [body, status, error] of showFaults) {
    const reply = await rig.ask('POST /api/show', body === undefined ? {} : show(body))
    assert.equal(reply.status, status, JSON.stringify(body))
    assert.match((JSON.parse(reply.text) as { error: string }).error, error)
  }
  assert.deepEqual(rig.shows, [])
})

test('show goes on to the next owner, and says which ones did not answer', async () => {
  const workers = ['node-1', 'node-2', 'node-3'].map((name) =>
    aWorker({ name, installed: [installed('chat:latest')] }),
  )
  const answers = {
    'node-1': () => Promise.resolve({ ok: false as const, error: 'no answer within 5000 ms' }),
    'node-2': () => shown(404, '{"error":"model not found"}'),
    'node-3': () => shown(200, '{}'),
  }
  const answerOf: ShowDeps['show'] = ({ name }) => answers[name as keyof typeof answers]()
  await using rig = await startRig(workers, answerOf)
  assert.equal((await rig.ask('POST /api/show', show({ model: 'chat' }))).status, 200)
  await using gone = await startRig(workers.slice(0, 2), answerOf)
  assert.equal((await gone.ask('POST /api/show', show({ model: 'chat' }))).status, 404)
  await using silent = await startRig(workers.slice(0, 1), answerOf)
  const reply = await silent.ask('POST /api/show', show({ model: 'chat' }))
  assert.equal(reply.status, 503)
  assert.match(reply.text, /node-1: no answer within 5000 ms/)
  assert.match(reply.headers['retry-after'] ?? '', /^\d+$/)
})

test('show may find a model on a worker whose inventory was never read', async () => {
  await using rig = await startRig([aWorker({ name: 'unread' })], () => shown(200, '{}'))
  assert.equal((await rig.ask('POST /api/show', show({ model: 'chat' }))).status, 200)
})

test('count_tokens is answered here', async () => {
  await using rig = await startRig([chat()])
  const reply = await rig.ask('POST /v1/messages/count_tokens', {
    body: JSON.stringify({
      model: 'chat',
      system: 'x'.repeat(400),
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'y'.repeat(400) }, { type: 'image' }] },
      ],
    }),
  })
  assert.equal(reply.status, 200)
  const { input_tokens: tokens } = JSON.parse(reply.text) as { input_tokens: number }
  assert.ok(tokens >= 1200 && tokens < 1250, String(tokens))
  const empty = await rig.ask('POST /v1/messages/count_tokens', { body: '{}' })
  assert.match(empty.text, /^\{"type":"error","error":\{"type":"invalid_request_error"/)
})
