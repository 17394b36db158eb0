// Pages in browsers: a preflight without a key, and exactly one allowed origin on every answer.

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { DIALECT_REQUESTS, modelFor } from '../../support/dialect-requests.ts'
import { startRig } from '../../support/rig.ts'
import type { Rig } from '../../support/rig.ts'

const ALLOWED = [
  'https://app.example',
  'chrome-extension://abc',
  'http://localhost:3000',
  'app://obsidian.md',
]
const ASKED = 'authorization, content-type, x-stainless-os, anthropic-version, baggage'
const PATHS = [
  ...DIALECT_REQUESTS.map(({ path }) => path),
  '/api/tags',
  '/api/show',
  '/api/version',
  '/api/ps',
  '/v1/models',
  '/v1/models/alpha:8b',
  '/v1/messages/count_tokens',
  '/api/pull',
]

interface Seen {
  status: number
  text: string
  /** Every value of the header, however often it comes. */
  origins: string[]
  headers: Record<string, string | string[] | undefined>
}

function ask(
  rig: Rig,
  [method, path]: readonly [method: string, path: string],
  headers: Record<string, string>,
  body?: string,
): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const req = request(`${rig.url}${path}`, { method, headers, agent: false }, (res) => {
      let text = ''
      res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      res.on('close', () => {
        const origins = res.rawHeaders.filter(
          (_, at) => res.rawHeaders[at - 1]?.toLowerCase() === 'access-control-allow-origin',
        )
        resolve({ status: res.statusCode ?? 0, text, origins, headers: res.headers })
      })
    })
    req.on('error', reject)
    req.end(body)
  })
}

const start = (): Promise<Rig> =>
  startRig({
    // The worker allows the same pages: its own header must not come beside the gateway's.
    workers: [
      { models: ['alpha:8b', 'embed-x'], origins: ['https://app.example', 'chrome-extension://*'] },
    ],
    config: {
      cors: { origins: ['https://app.example', 'chrome-extension://*'] },
      admission: { max_body_bytes: 65_536 },
    },
  })

// B127: no key is asked of a preflight, the headers it asks for are granted, and it is remembered.
test('a preflight of an allowed page is granted on every path', async () => {
  await using rig = await start()
  for (const path of PATHS) {
    for (const origin of ALLOWED) {
      const { status, text, origins, headers } = await ask(rig, ['OPTIONS', path], {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': ASKED,
      })
      assert.deepEqual([status, text, origins], [204, '', [origin]], path)
      assert.equal(headers['access-control-allow-headers'], ASKED)
      assert.match(String(headers['access-control-allow-methods']), /POST/)
      assert.ok(Number(headers['access-control-max-age']) > 0)
      assert.match(String(headers['vary']), /Origin/)
    }
  }
})

// B127: also where something fails. An error without the header is "a network error" to a page.
test('one allowed origin on answers, streams and every kind of error', async () => {
  await using rig = await start()
  const [origin = ''] = ALLOWED
  const chat = (model: string, more = {}): string =>
    JSON.stringify({ model, max_tokens: 9, messages: [{ role: 'user', content: 'x' }], ...more })
  const post = (path: string, body: string): Promise<Seen> =>
    ask(rig, ['POST', path], { origin, 'content-length': String(Buffer.byteLength(body)) }, body)
  for (const each of DIALECT_REQUESTS) {
    for (const stream of [true, false]) {
      const body = JSON.stringify({
        model: modelFor(each, 'alpha:8b', 'embed-x'),
        ...each.body,
        stream,
      })
      const seen = await post(each.path, body)
      assert.deepEqual([seen.status, seen.origins], [200, [origin]], `${each.path} ${seen.text}`)
    }
  }
  const errors: [number, () => Promise<Seen>][] = [
    [400, () => post('/api/chat', '{')],
    [404, () => post('/v1/chat/completions', chat('nobody:1b'))],
    [404, () => post('/v1/v1/messages', '{}')],
    [403, () => post('/api/pull', '{}')],
    [405, () => ask(rig, ['GET', '/api/chat'], { origin })],
    [413, () => post('/v1/messages', chat('alpha:8b', { x: 'x'.repeat(100_000) }))],
    [500, () => post('/api/chat', chat('alpha:8b'))],
    [502, () => post('/v1/messages', chat('alpha:8b'))],
  ]
  await rig.sims[0]?.faults.add({
    kind: 'status',
    status: 500,
    body: '{"error":"no"}',
    path: '/api/chat',
    times: 1,
  })
  await rig.sims[0]?.faults.add({ kind: 'reset', on: 'request', path: '/v1/messages' })
  for (const [status, send] of errors) {
    const seen = await send()
    assert.deepEqual([seen.status, seen.origins], [status, [origin]], seen.text)
  }
})

// B127: a worker, or a proxy before it, that allows everyone: its header must not stand beside or
// instead of the gateway's own.
test("a worker's own CORS headers are not passed on", async () => {
  await using rig = await start()
  const theirs = {
    'access-control-allow-origin': '*',
    'access-control-allow-credentials': 'true',
    vary: 'X-Theirs',
  }
  for (const each of DIALECT_REQUESTS) {
    for (const status of [200, 400]) {
      await rig.sims[0]?.faults.add({
        kind: 'script',
        status,
        headers: { 'content-type': 'application/json', ...theirs },
        chunks: ['{"done":true,"error":"x"}'],
        path: each.path,
        times: 1,
      })
      const body = JSON.stringify({ model: modelFor(each, 'alpha:8b', 'embed-x'), ...each.body })
      const [origin = ''] = ALLOWED
      const seen = await ask(rig, ['POST', each.path], { origin }, body)
      assert.deepEqual([seen.origins, seen.headers['vary']], [[origin], 'Origin'], each.path)
      assert.equal(seen.headers['access-control-allow-credentials'], undefined)
    }
  }
})

// B127: a page that may not come gets no word that it could read, and nothing is done for it.
test('a page that is not allowed gets no header, and reaches no worker', async () => {
  await using rig = await start()
  for (const path of PATHS) {
    for (const method of ['OPTIONS', 'POST', 'GET']) {
      const { status, origins } = await ask(rig, [method, path], { origin: 'https://evil.example' })
      assert.deepEqual([status, origins], [403, []], `${method} ${path}`)
    }
  }
  assert.ok(
    Object.keys(rig.sims[0]?.record.counts() ?? {}).every((what) => what.startsWith('GET ')),
  )
})
