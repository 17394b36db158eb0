// Bodies that are large, slow, of no announced length, or too large.

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startRig } from '../../support/rig.ts'
import type { Rig } from '../../support/rig.ts'
import { until } from '../../support/until.ts'

const MIB = 1024 * 1024

interface Answered {
  status: number
  text: string
  headers: Record<string, unknown>
}

/** Sends a body in pieces; without a length it is chunked. */
function send(
  url: string,
  path: string,
  pieces: Iterable<Buffer>,
  headers: Record<string, string | number> = {},
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const req = request(`${url}${path}`, { method: 'POST', headers, agent: false }, (res) => {
      let text = ''
      res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      res.on('end', () => resolve({ status: res.statusCode ?? 0, text, headers: res.headers }))
      res.on('error', reject)
    })
    req.on('error', reject).setMaxListeners(0)
    void (async () => {
      for (const piece of pieces) {
        if (req.destroyed) return
        if (!req.write(piece)) await new Promise((go) => req.once('drain', go).once('close', go))
      }
      req.end()
    })()
  })
}

const image = (bytes: number): string => Buffer.alloc((bytes / 4) * 3, 7).toString('base64')
const native = (data: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      model: 'llava:7b',
      messages: [{ role: 'user', content: 'x', images: [data] }],
      stream: false,
    }),
  )
const openai = (data: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      model: 'llava:7b',
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }],
        },
      ],
    }),
  )

const withVision = (config: Record<string, unknown> = {}): Promise<Rig> =>
  startRig({ workers: [{ models: ['llava:7b'] }], config })

// B081: photographs are megabytes. They pass, with and without an announced length, and the worker
// gets them whole; the default limit leaves room for 64 MB.
test('images of 0.9, 3 and 12 MB pass, with and without a length', async () => {
  await using rig = await withVision()
  assert.ok(rig.gateway.parts.config().admission.max_body_bytes >= 64 * MIB)
  for (const megabytes of [0.9, 3, 12]) {
    const data = image(Math.round((megabytes * MIB) / 4) * 4)
    for (const [path, body] of [
      ['/api/chat', native(data)],
      ['/v1/chat/completions', openai(data)],
    ] as const) {
      await rig.sims[0]?.faults.add({
        kind: 'status',
        status: 200,
        body: '{"done":true}',
        path,
        times: 2,
      })
      const whole = await send(rig.url, path, [body], { 'content-length': body.length })
      assert.equal(whole.status, 200, whole.text)
      const pieces = function* () {
        for (let at = 0; at < body.length; at += 64 * 1024) yield body.subarray(at, at + 64 * 1024)
      }
      const chunked = await send(rig.url, path, pieces())
      assert.equal(chunked.status, 200, chunked.text)
      const seen = rig.sims[0]?.record.requests({ path }).slice(-2) ?? []
      for (const { bodyBytes, framing } of seen) {
        assert.deepEqual([bodyBytes, framing], [body.length, 'content-length'])
      }
    }
  }
})

// B081: too large is 413, in the words of the dialect, with the limit. A client that is still
// sending can read it, announced or not; nothing reaches a worker, and other connections go on.
test('a body over the limit is a 413 that a client can read while it sends', async () => {
  await using rig = await withVision({ admission: { max_body_bytes: 2 * MIB } })
  const body = native(image(12 * MIB))
  const paths = {
    '/api/chat': 'error',
    '/v1/chat/completions': 'code',
    '/v1/messages': 'request_id',
  }
  for (const [path, key] of Object.entries(paths)) {
    const pieces = function* () {
      for (let at = 0; at < body.length; at += 256 * 1024) yield body.subarray(at, at + 256 * 1024)
    }
    for (const headers of [{ 'content-length': body.length }, {}]) {
      const answer = await send(rig.url, path, pieces(), headers)
      assert.equal(answer.status, 413, answer.text)
      assert.match(answer.text, /2097152/)
      assert.match(answer.text, new RegExp(`"${key}"`))
      assert.match(String(answer.headers['content-type']), /^application\/json/)
    }
  }
  assert.equal(rig.sims[0]?.record.requests({ path: '/api/chat' }).length, 0)
  assert.equal((await fetch(`${rig.url}/api/version`)).status, 200)
})

// B083: .NET, PowerShell and older curl wait for 100 Continue before a body. They get it as soon
// as the body is wanted, the header is not passed on, and a refusal comes instead of it.
test('100 Continue comes at once, small and large bodies alike, and is not passed on', async () => {
  await using rig = await withVision()
  for (const bytes of [2 * 1024, 5 * MIB]) {
    const body = native(image(bytes))
    const socket = connect(rig.port, '127.0.0.1')
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk) => (text += String(chunk)))
    const started = performance.now()
    socket.write(
      `POST /api/chat HTTP/1.1\r\nhost: 127.0.0.1:${rig.port}\r\nexpect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`,
    )
    await until(() => text.startsWith('HTTP/1.1 100 Continue\r\n\r\n'), { what: 'leave to send' })
    assert.ok(performance.now() - started < 1_000)
    socket.write(body)
    await until(() => /HTTP\/1\.1 200 OK.*"done":true/s.test(text), { what: 'the answer' })
    socket.destroy()
    const seen = rig.sims[0]?.record.requests({ path: '/api/chat' }).at(-1)
    assert.equal(seen?.bodyBytes, body.length)
    assert.ok(seen?.headers.every(([name]) => name.toLowerCase() !== 'expect'))
  }
})

// B086: five minutes is nothing for an upload from a phone, and Node ends a request then. A body
// that comes in drops is read to its end as long as it comes; a head is bounded (server.test.ts).
test('a body that comes in drops is read to its end', async () => {
  await using rig = await withVision()
  const body = Buffer.from(
    '{"model":"llava:7b","messages":[{"role":"user","content":"x"}],"stream":false}',
  )
  const req = request(`${rig.url}/api/chat`, {
    method: 'POST',
    agent: false,
    headers: { 'content-length': body.length },
  })
  const status = new Promise<number | undefined>((resolve, reject) => {
    req.on('response', (res) => resolve(res.resume().statusCode)).on('error', reject)
  })
  for (const byte of body) {
    req.write(Buffer.from([byte]))
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  req.end()
  assert.equal(await status, 200)
})
