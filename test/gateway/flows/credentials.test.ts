// Keys, passwords and words of clients: whom they reach, and where they are never written.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite, test } from 'node:test'
import { AdminClient } from '../../../src/gateway/contract/client.ts'
import { socketTransport } from '../../../src/gateway/contract/transport.ts'
import { loadConfig } from '../../../src/gateway/config/load.ts'
import { DIALECT_REQUESTS, modelFor } from '../../support/dialect-requests.ts'
import { startRig } from '../../support/rig.ts'
import type { Rig } from '../../support/rig.ts'
import { ask, chatBody } from '../../support/sim-client.ts'

const SECRETS = {
  authorization: 'Bearer KEY-A',
  'x-api-key': 'KEY-A',
  cookie: 'session=KEY-A',
  'proxy-authorization': 'Basic KEY-A',
  'x-openwebui-user-email': 'KEY-A@example.com',
  'x-openwebui-user-jwt': 'KEY-A',
  'x-forwarded-for': 'KEY-A',
  'openai-organization': 'KEY-A',
  'x-goog-api-key': 'KEY-A',
  'api-key': 'KEY-A',
}

// B124: the gateway's key would be a leak at the worker (and, for a cloud model, at ollama.com).
// The worker sees its own credential, where it has one, and none of the client's.
for (const own of [undefined, 'Bearer WORKERS-OWN']) {
  test(`no credential of a client reaches a worker (${own ?? 'that has none itself'})`, async () => {
    await using rig = await startRig({
      workers: [{ models: ['alpha:8b', 'embed-x'] }],
      workerConfig: own === undefined ? {} : { headers: { authorization: own } },
    })
    const [sim] = rig.sims
    for (const each of DIALECT_REQUESTS) {
      const body = { model: modelFor(each, 'alpha:8b', 'embed-x'), ...each.body }
      const answer = await rig.post(`${each.path}?key=KEY-A`, body, { headers: SECRETS })
      assert.equal(answer.status, 200, await answer.text())
      await answer.text().catch(() => '')
    }
    await rig.post('/api/show', { model: 'alpha:8b' }, { headers: SECRETS })
    await rig.post('/k/KEY-A/api/chat', chatBody('alpha:8b'), { headers: SECRETS })
    await rig.post('/api/generate', { model: 'alpha:8b', keep_alive: 0 }, { headers: SECRETS })
    const seen = sim?.record.requests() ?? []
    assert.ok(seen.length > 10)
    for (const { path, url, headers } of seen) {
      assert.doesNotMatch(`${url} ${JSON.stringify(headers)}`, /KEY-A/, path)
      const told = headers
        .filter(([name]) => name.toLowerCase() === 'authorization')
        .map(([, value]) => value)
      assert.deepEqual(told, own === undefined ? [] : [own], path)
    }
  })
}

/** Five ways in which a worker fails, and one in which it repeats what it was sent. */
const FAILURES = [
  { kind: 'reset', on: 'request' },
  { kind: 'cut', after: 2, how: 'rst' },
  { kind: 'status', status: 500, body: '{"error":"no"}' },
  { kind: 'empty' },
  { kind: 'stream_error', after: 1 },
  { kind: 'silent' },
] as const

// B130: with everything on, and after failures of every kind, no key (not even a wrong one), no
// password of a worker and no word of a prompt stands in a log, an error, a metric or the console.
test('no key, password or prompt is written anywhere', async () => {
  const LEAKS = /sk-TESTLEAK|KEY-GOOD|pw-LEAK|CANARY/
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b'] }],
    workerConfig: { headers: { authorization: 'Basic pw-LEAK' } },
    config: { upstream: { first_byte_grace: '100ms', first_byte_timeout: '1s' } },
  })
  const said: string[] = []
  const chat = async (path: string, headers: Record<string, string>): Promise<void> => {
    const body = {
      model: 'alpha:8b',
      max_tokens: 9,
      messages: [{ role: 'user', content: 'CANARY-42' }],
    }
    const answer = await rig.post(path, body, { headers })
    said.push(await answer.text().catch(String), JSON.stringify([...answer.headers]))
  }
  for (const fault of FAILURES) {
    for (const path of [
      '/api/chat',
      '/v1/chat/completions',
      '/v1/messages',
      '/k/sk-TESTLEAK-2/api/chat',
    ]) {
      await rig.sims[0]?.faults.add({ ...fault, path: path.replace(/^\/k\/[^/]+/, ''), times: 1 })
      await chat(path, { authorization: 'Bearer sk-TESTLEAK-1', 'x-api-key': 'KEY-GOOD' })
      rig.gateway.parts.fleet.apply({ type: 'answered', worker: 'node-1', model: 'alpha:8b' })
      await rig.sims[0]?.faults.clear()
    }
  }
  const bad = [
    '{"model":"alpha:8b","messages":[{"role":"user","content":"CANARY-42',
    '{"model":{"x":"CANARY-42"}}',
    '{"model":"CANARY-42:1b", CANARY-42',
  ]
  for (const body of bad) {
    const answer = await fetch(`${rig.url}/api/chat`, { method: 'POST', body })
    await answer.text()
  }
  await rig.quiet()
  await rig.gateway.parts.prober.probeNow('node-1')
  const places = {
    answers: said.join('\n'),
    log: JSON.stringify(rig.log),
    metrics: await (await fetch(`${rig.opsUrl}/metrics`)).text(),
    console: await consoleOf(rig),
  }
  for (const [place, text] of Object.entries(places)) {
    assert.ok(text.length > 100, `${place} was looked at`)
    const at = LEAKS.exec(text)
    assert.equal(
      at,
      null,
      `${place}: ${text.slice(Math.max(0, (at?.index ?? 0) - 80), (at?.index ?? 0) + 40)}`,
    )
  }
})

/** Everything that operators can read. */
async function consoleOf(rig: Rig): Promise<string> {
  const { socket } = rig.gateway.parts.config().admin
  const admin = new AdminClient({ transport: socketTransport([socket ?? '']), actor: 'test' })
  const parts = [
    await admin.call('status', {}),
    await admin.call('workers.list', {}),
    await admin.call('models.list', {}),
    await admin.call('requests.list', {}),
    await snapshotOf(admin),
    await admin.call('config.show', {}),
  ]
  return JSON.stringify(parts)
}

/** What a console is drawn from, events and requests included. */
function snapshotOf(admin: AdminClient): Promise<unknown> {
  const end = new AbortController()
  return new Promise((resolve, reject) => {
    const onSnapshot = (snapshot: unknown): void => {
      resolve(snapshot)
      end.abort()
    }
    void admin.watch({ onSnapshot, onError: reject }, end.signal)
  })
}

/** A worker that lives under a path and wants a password, on an address of choice. */
async function startGuarded(
  host: string,
): Promise<AsyncDisposable & { port: number; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = []
  const expected = `Basic ${Buffer.from('u:p@ss').toString('base64')}`
  const server = createServer((req, res) => {
    seen.push(req)
    req.resume()
    const url = req.url ?? ''
    if (!url.startsWith('/ollama/') || url.includes('//'))
      res.writeHead(404).end('{"error":"wrong path"}')
    else if (req.headers.authorization !== expected)
      res.writeHead(401).end('{"error":"wrong password"}')
    else res.end(ANSWERS[url.slice('/ollama'.length)] ?? '{}')
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const ANSWERS: Readonly<Record<string, string>> = {
  '/api/version': '{"version":"0.33.0"}',
  '/api/ps': '{"models":[]}',
  '/api/tags':
    '{"models":[{"name":"chat:1b","model":"chat:1b","size":1,"digest":"d","details":{}}]}',
  '/api/chat': '{"model":"chat:1b","done":true,"prompt_eval_count":1,"eval_count":1}\n',
}

// B132: prefix, slashes, password and IPv6, on each kind of call that the gateway makes. The
// password reaches the worker and nobody else.
suite('worker URLs are joined as they are meant', { concurrency: true }, () => {
  for (const [host, written] of [
    ['127.0.0.1', 'http://u:p%40ss@127.0.0.1:PORT/ollama'],
    ['127.0.0.1', 'http://u:p%40ss@localhost:PORT/ollama/'],
    ['127.0.0.1', 'HTTP://u:p%40ss@127.0.0.1:PORT/ollama//'],
    ['::1', 'http://u:p%40ss@[::1]:PORT/ollama'],
  ] as const) {
    test(written, async () => {
      await using worker = await startGuarded(host)
      await using rig = await startRig({
        workers: [{ url: written.replace('PORT', String(worker.port)) }],
      })
      const answer = await rig.post('/api/chat', chatBody('chat:1b'))
      assert.equal(answer.status, 200, await answer.text())
      await rig.post('/api/show', { model: 'chat:1b' })
      const paths = new Set(worker.seen.map(({ method, url }) => `${method} ${url}`))
      for (const path of [
        'GET /ollama/api/version',
        'GET /ollama/api/tags',
        'GET /ollama/api/ps',
        'POST /ollama/api/chat',
        'POST /ollama/api/show',
      ]) {
        assert.ok(paths.has(path), `${path} in ${[...paths].join(', ')}`)
      }
      const shown = (await consoleOf(rig)) + JSON.stringify(rig.log)
      assert.doesNotMatch(shown, /p@ss|p%40ss|dTpwQHNz/)
    })
  }
})

/** What is written, and the address that is meant. */
const WRITTEN: Readonly<Record<string, string | RegExp>> = {
  'w1:1': 'http://w1:1',
  w1: 'http://w1:11434',
  '[::1]:1': 'http://[::1]:1',
  'http://w1': 'http://w1',
  'HTTP://W1:1': 'http://w1:1',
  'http://w1:1/ollama/': 'http://w1:1/ollama',
  'ftp://w1:1': /./,
  'http://': /./,
  'http://w1:99999': /./,
  'http://w1:1/?x=1': /./,
  'http://w1:1/#x': /./,
}

// B132: the port of an address without a scheme is Ollama's; what is no address is said when the
// config is read, with its place.
test('addresses without a scheme, and what is no address', () => {
  for (const [url, meant] of Object.entries(WRITTEN)) {
    const loaded = loadConfig(JSON.stringify({ workers: [{ name: 'w', url }] }), {})
    if (typeof meant === 'string') {
      assert.ok(loaded.ok, `${url}: ${JSON.stringify(loaded)}`)
      assert.deepEqual(loaded.config.workers[0]?.urls, [meant], url)
    } else {
      assert.ok(
        !loaded.ok,
        `${url} is taken as ${JSON.stringify(loaded.ok && loaded.config.workers[0]?.urls)}`,
      )
      assert.match(loaded.problems[0]?.path ?? '', /workers\[0\]/)
    }
  }
})

// B129: the CLI begins with HEAD / and shows nothing but "something went wrong" if it fails.
test('HEAD / and GET / say that Ollama is running, whatever key comes along', async () => {
  await using rig = await startRig()
  for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
    for (const path of ['/', '/k/some-key/', '//']) {
      const get = await fetch(rig.url + path, { headers })
      assert.deepEqual([get.status, await get.text()], [200, 'Ollama is running'], path)
      const head = await ask(rig.url, path, undefined, 'HEAD').answer
      assert.deepEqual([head.status, head.text], [200, ''], path)
    }
    for (const path of ['/api/version', '/api/tags']) {
      assert.equal((await fetch(rig.url + path, { headers })).status, 200)
    }
  }
})
