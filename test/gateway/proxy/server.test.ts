import assert from 'node:assert/strict'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '../../../src/gateway/clock.ts'
import type { ErrorForm } from '../../../src/gateway/dialects/dialect.ts'
import { sendAnswer, sendFailure } from '../../../src/gateway/proxy/answer.ts'
import type { RequestContext } from '../../../src/gateway/proxy/request-context.ts'
import { createClientServer } from '../../../src/gateway/proxy/server.ts'
import type { ClientServer, ServerDeps } from '../../../src/gateway/proxy/server.ts'
import { GatewayError } from '../../../src/gateway/errors.ts'
import { until } from '../../support/until.ts'

const form: ErrorForm = {
  contentType: 'application/json',
  body: (error) => JSON.stringify({ error: error.message }),
  streamTail: () => '',
}

interface Rig extends AsyncDisposable {
  server: ClientServer
  port: number
  bugs: unknown[]
}

async function startRig(handle: ServerDeps['handle'], headTimeoutMs = 60_000): Promise<Rig> {
  const bugs: unknown[] = []
  const server = createClientServer({
    clock: systemClock,
    handle,
    headTimeoutMs,
    onBug: (_, error) => bugs.push(error),
  })
  const { port } = await server.listen({ host: '127.0.0.1', port: 0 })
  return { server, port, bugs, [Symbol.asyncDispose]: async () => void (await server.stop(0)) }
}

/** A socket that keeps everything it has received. */
function dial(port: number): { socket: Socket; received: () => string; ended: () => boolean } {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  let ended = false
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  socket.on('error', () => {}).on('close', () => (ended = true))
  return { socket, received: () => text, ended: () => ended }
}

async function exchange(port: number, request: string): Promise<string> {
  const { socket, received, ended } = dial(port)
  socket.write(request)
  await until(ended, { what: 'the connection to close' })
  return received()
}

const hello = (ctx: RequestContext): void =>
  sendAnswer(ctx, { status: 200, headers: { 'content-type': 'text/plain' }, body: 'hello' })

async function readAll(ctx: RequestContext): Promise<number> {
  let length = 0
  for await (const chunk of ctx.req) length += (chunk as Buffer).length
  return length
}

test('every answer carries the gateway’s own request id, whatever the client sent', async () => {
  await using rig = await startRig(hello)
  const answer = await fetch(`http://127.0.0.1:${rig.port}/`, {
    headers: { 'x-request-id': 'mine' },
  })
  assert.equal(await answer.text(), 'hello')
  const id = answer.headers.get('x-request-id')
  assert.match(id ?? '', /^[0-9a-f-]{36}$/)
  assert.equal(answer.headers.get('request-id'), id)
})

test('the context has a clean path, and the key apart from it', async () => {
  const seen: unknown[] = []
  await using rig = await startRig((ctx) => {
    seen.push([ctx.path, ctx.query, ctx.pathKey])
    hello(ctx)
  })
  await (await fetch(`http://127.0.0.1:${rig.port}/k/SE%43RET//api/chat/?ts=1`)).text()
  assert.deepEqual(seen, [['/api/chat', 'ts=1', 'SECRET']])
})

// A bug must cost its own request and nothing else.
test('a bug in a handler is a 500 in the dialect’s form, and the server lives on', async () => {
  await using rig = await startRig((ctx) => {
    if (ctx.path === '/bug') throw new TypeError('secret detail')
    hello(ctx)
  })
  const answer = await fetch(`http://127.0.0.1:${rig.port}/bug`)
  const body = (await answer.json()) as { error: string }
  assert.equal(answer.status, 500)
  assert.match(body.error, new RegExp(answer.headers.get('x-request-id') ?? 'none'))
  assert.doesNotMatch(body.error, /secret detail/)
  assert.equal(rig.bugs.length, 1)
  assert.equal((await fetch(`http://127.0.0.1:${rig.port}/`)).status, 200)
})

test('a bug after the first byte breaks the answer off instead of ending it cleanly', async () => {
  await using rig = await startRig((ctx) => {
    ctx.res.writeHead(200).write('half')
    throw new TypeError('bug')
  })
  await assert.rejects(async () => (await fetch(`http://127.0.0.1:${rig.port}/`)).text())
  assert.equal(rig.bugs.length, 1)
})

test('a rejected promise is caught like a throw; a GatewayError is no bug', async () => {
  await using rig = await startRig(async (ctx) => {
    await Promise.resolve()
    if (ctx.path === '/bug') throw new Error('bug')
    throw new GatewayError({ code: 'forbidden', detail: 'no' })
  })
  assert.equal((await fetch(`http://127.0.0.1:${rig.port}/bug`)).status, 500)
  assert.equal((await fetch(`http://127.0.0.1:${rig.port}/`)).status, 403)
  assert.equal(rig.bugs.length, 1)
})

test('HTTP/1.0 is answered without chunks, and the end of the connection ends the answer', async () => {
  await using rig = await startRig((ctx) => {
    ctx.res.writeHead(200, { 'content-type': 'text/plain' })
    ctx.res.write('one ')
    ctx.res.end('two')
  })
  const text = await exchange(rig.port, 'GET / HTTP/1.0\r\n\r\n')
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  assert.doesNotMatch(text, /transfer-encoding/i)
  assert.ok(text.endsWith('\r\n\r\none two'), text)
})

test('a head that is too large is 431 as JSON', async () => {
  await using rig = await startRig(hello)
  const text = await exchange(
    rig.port,
    `GET / HTTP/1.1\r\nhost: x\r\nx-long: ${'a'.repeat(70_000)}\r\n\r\n`,
  )
  assert.match(text, /^HTTP\/1\.1 431 /)
  assert.match(text, /content-type: application\/json/)
  assert.match(text, /\{"error":"[^"]+64 KiB"\}$/)
  // Open WebUI's JWT and cookies are far below it.
  const large = await fetch(`http://127.0.0.1:${rig.port}/`, {
    headers: { 'x-jwt': 'a'.repeat(30_000) },
  })
  assert.equal(large.status, 200)
})

test('what is no HTTP is 400 as JSON, and the next connection works', async () => {
  await using rig = await startRig(hello)
  const text = await exchange(rig.port, 'nonsense\r\n\r\n')
  assert.match(text, /^HTTP\/1\.1 400 /)
  assert.match(text, /\{"error":"[^"]+"\}$/)
  assert.equal((await fetch(`http://127.0.0.1:${rig.port}/`)).status, 200)
})

// HTTPS_PROXY that names the gateway: its client saw a connection that closes, and no reason.
test('CONNECT is refused with a reason, and the next connection works', async () => {
  await using rig = await startRig(hello)
  const refusal = await exchange(rig.port, 'CONNECT example.org:443 HTTP/1.1\r\nhost: x\r\n\r\n')
  assert.match(refusal, /^HTTP\/1\.1 405 .*\{"error":"this is a gateway for models/s)
  assert.match(await exchange(rig.port, 'GET / HTTP/1.0\r\n\r\n'), /hello/)
})

test('broken chunks in a body are answered, while the handler waits for the rest', async () => {
  await using rig = await startRig(async (ctx) => {
    await readAll(ctx)
    hello(ctx)
  })
  const text = await exchange(
    rig.port,
    'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n',
  )
  assert.match(text, /^HTTP\/1\.1 400 /)
})

const expecting = (length: number): string =>
  `POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`

test('100 Continue is sent only once the body is wanted', async () => {
  await using rig = await startRig(async (ctx) => {
    ctx.acceptBody()
    ctx.acceptBody()
    const body = String(await readAll(ctx))
    sendAnswer(ctx, { status: 200, headers: {}, body })
  })
  const { socket, received, ended } = dial(rig.port)
  socket.write(expecting(5))
  await until(() => received().includes('100 Continue'), { what: '100 Continue' })
  socket.write('12345')
  await until(ended)
  assert.equal(received().match(/100 Continue/g)?.length, 1)
  assert.match(received(), /HTTP\/1\.1 200 OK[^]*\r\n\r\n5$/)
})

test('a refusal instead of 100 Continue closes the connection without waiting for a body', async () => {
  await using rig = await startRig((ctx) =>
    sendFailure(ctx, form, new GatewayError({ code: 'body_too_large', limitBytes: 1 })),
  )
  const { socket, received } = dial(rig.port)
  socket.write(expecting(5_000_000))
  await until(() => received().endsWith('}'), { what: 'the whole refusal' })
  assert.match(received(), /^HTTP\/1\.1 413 /)
  assert.match(received(), /connection: close/i)
  assert.doesNotMatch(received(), /100 Continue/)
  socket.destroy()
})

// B081: a client that reads only after it has sent everything still sees why it was refused.
test('a refusal can be read by a client that sends a large body to its end first', async () => {
  await using rig = await startRig((ctx) =>
    sendFailure(ctx, form, new GatewayError({ code: 'forbidden', detail: 'no uploads here' })),
  )
  const answer = await fetch(`http://127.0.0.1:${rig.port}/`, {
    method: 'POST',
    body: Buffer.alloc(30 * 1024 * 1024),
  })
  assert.equal(answer.status, 403)
  assert.deepEqual(await answer.json(), { error: 'no uploads here' })
})

test('a small unread body leaves the connection usable', async () => {
  await using rig = await startRig((ctx) => {
    if (ctx.path === '/ok') return hello(ctx)
    return sendFailure(ctx, form, new GatewayError({ code: 'forbidden', detail: 'no' }))
  })
  const text = await exchange(
    rig.port,
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbodyGET /ok HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
  )
  assert.match(text, /^HTTP\/1\.1 403 [^]*HTTP\/1\.1 200 OK[^]*hello$/)
})

test('draining lets a running stream end, refuses what comes after it, and then closes', async () => {
  const release = Promise.withResolvers<void>()
  await using rig = await startRig(async (ctx) => {
    ctx.res.writeHead(200).write('begin ')
    await release.promise
    ctx.res.end('end')
  })
  const { socket, received, ended } = dial(rig.port)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => received().includes('begin'))
  const idle = dial(rig.port)
  await until(() => !idle.socket.connecting)

  const stopped = rig.server.stop(60_000)
  assert.equal(rig.server.draining, true)
  await assert.rejects(fetch(`http://127.0.0.1:${rig.port}/`))
  release.resolve()
  assert.equal(await stopped, 0)
  await until(ended, { what: 'the kept-alive connection to close' })
  assert.match(received(), /begin [^]*end/)
  idle.socket.destroy()
})

test('an answer that begins while draining says that the connection will close', async () => {
  const release = Promise.withResolvers<void>()
  await using rig = await startRig(async (ctx) => {
    await release.promise
    hello(ctx)
  })
  const { socket, received, ended } = dial(rig.port)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => rig.server.inFlight === 1)
  const stopped = rig.server.stop(60_000)
  release.resolve()
  assert.equal(await stopped, 0)
  await until(ended)
  assert.match(received(), /connection: close/i)
})

test('what does not end in time is cut, and counted', async () => {
  await using rig = await startRig((ctx) => void ctx.res.writeHead(200).write('begin'))
  const { socket, received, ended } = dial(rig.port)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => received().includes('begin'))
  const first = rig.server.stop(60_000)
  assert.equal(await rig.server.stop(10), 1, 'a second stop shortens the wait')
  assert.equal(await first, 1)
  await until(ended)
})

// B086: the head of a request is bounded, however steadily it drips; the body is not.
test('a head that never ends is 408, a body that takes longer is read to its end', async () => {
  await using rig = await startRig(async (ctx) => {
    const body = String(await readAll(ctx))
    sendAnswer(ctx, { status: 200, headers: {}, body })
  }, 300)
  const slow = dial(rig.port)
  slow.socket.write(
    'POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 4\r\n\r\n12',
  )
  const drip = dial(rig.port)
  drip.socket.write('GET / HTTP/1.1\r\n')
  const dripping = setInterval(() => drip.socket.write('x'), 20)
  await until(drip.ended, { what: 'the late head to be refused' })
  clearInterval(dripping)
  assert.match(drip.received(), /^HTTP\/1\.1 408 [^]*\{"error":"[^"]+in time"\}$/)
  slow.socket.write('34')
  await until(slow.ended, { what: 'the answer to the slow body' })
  assert.match(slow.received(), /^HTTP\/1\.1 200 [^]*4$/)
})

test('a thousand clients at once are served, and none of them holds the exit', async () => {
  await using rig = await startRig(hello)
  const clients = Array.from({ length: 1000 }, () => dial(rig.port))
  for (const { socket } of clients) socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  for (const { received } of clients) await until(() => received().endsWith('hello'))
  assert.equal(await rig.server.stop(60_000), 0)
  for (const { ended } of clients) await until(ended)
})

test('a request that comes on an open connection while draining is refused, and the connection ends', async () => {
  const release = Promise.withResolvers<void>()
  await using rig = await startRig(async (ctx) => {
    await release.promise
    hello(ctx)
  })
  const { socket, received, ended } = dial(rig.port)
  socket.write('GET /one HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => rig.server.inFlight === 1)
  const stopped = rig.server.stop(60_000)
  socket.write('GET /two HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => rig.server.inFlight === 2 || socket.destroyed)
  release.resolve()
  assert.equal(await stopped, 0)
  await until(ended)
  assert.match(received(), /^HTTP\/1\.1 200 OK/)
})

// A scanner, or a client that was cut off while it asked: to Node such a connection is not idle,
// and held the exit for all of drain_timeout. On the second one a request was answered before.
test('half a head does not hold the exit; one that is finished meanwhile is answered', async () => {
  const slow = Promise.withResolvers<void>()
  using _released = { [Symbol.dispose]: () => slow.resolve() }
  await using rig = await startRig(async (ctx) => {
    if (ctx.path === '/slow') await slow.promise
    sendAnswer(ctx, { status: 200, headers: {}, body: 'ok' })
  })
  const half = dial(rig.port)
  half.socket.write('POST /api/chat HT')
  const again = dial(rig.port)
  again.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => again.received().endsWith('ok'))
  again.socket.write('GET / HTTP/1.1\r\nho')
  const finished = dial(rig.port)
  finished.socket.write('GET / HTTP/1.1\r\nhost: x\r\n')
  const running = dial(rig.port)
  running.socket.write('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => rig.server.inFlight === 1)
  const stopped = rig.server.stop(60_000)
  finished.socket.write('\r\n')
  await until(() => finished.received().startsWith('HTTP/1.1 503'))
  await until(() => half.ended() && again.ended())
  assert.ok(!running.ended(), 'a request that runs is left alone')
  slow.resolve()
  assert.equal(await stopped, 0, 'nothing was cut')
  await until(() => running.received().startsWith('HTTP/1.1 200'))
})
