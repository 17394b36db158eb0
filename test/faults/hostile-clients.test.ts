// Clients that mean no good, or do not know better: guessed keys by the thousand, heads without end
// and without haste. Whoever comes with a right key is served as ever.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import type { NetConnectOpts, Socket } from 'node:net'
import { suite, test } from 'node:test'
import { keyFor } from '../support/key-drafts.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const GUESSES_PER_SECOND = 1_000
const SECONDS = 3
const BATCH = 20

interface Dialled {
  socket: Socket
  received(): string
  ended(): boolean
}

function dial(to: NetConnectOpts): Dialled {
  const socket = connect(to)
  let text = ''
  let ended = false
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  socket.on('error', () => {}).on('close', () => (ended = true))
  return { socket, received: () => text, ended: () => ended }
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const guess = (number: number): string =>
  `GET /api/tags HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-wrong-${number}\r\n\r\n`

/** Sends so many a second over a few connections; resolves with how many were refused. */
async function guessKeys(port: number): Promise<number> {
  const dialled = Array.from({ length: 10 }, () => dial({ port, host: '127.0.0.1' }))
  let sent = 0
  const begun = performance.now()
  while (sent < GUESSES_PER_SECOND * SECONDS) {
    const numbers = Array.from({ length: BATCH }, (_, index) => sent + index)
    dialled[(sent / BATCH) % dialled.length]?.socket.write(numbers.map(guess).join(''))
    sent += BATCH
    await sleep(Math.max(0, begun + (sent * 1000) / GUESSES_PER_SECOND - performance.now()))
  }
  const refused = (): number =>
    dialled.reduce((sum, { received }) => sum + received().split('HTTP/1.1 401').length - 1, 0)
  await until(() => refused() === sent, { timeoutMs: 20_000, what: 'every guess to be refused' })
  for (const { socket } of dialled) socket.destroy()
  return refused()
}

test('a thousand wrong keys a second slow nobody down who has a right one', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], tokens: 2 }],
    config: { auth: { mode: 'keys' } },
  })
  const headers = await keyFor(rig)
  const guessing = guessKeys(rig.port)
  const took: number[] = []
  while (took.length < 40) {
    const begun = performance.now()
    const body = { model: 'm:1b', prompt: 'hi', stream: false }
    const answer = await rig.post('/api/generate', body, { headers })
    await answer.text()
    assert.equal(answer.status, 200)
    took.push(performance.now() - begun)
    await sleep(40)
  }
  assert.equal(await guessing, GUESSES_PER_SECOND * SECONDS)
  const slow = took.toSorted((a, b) => a - b)[Math.floor(took.length * 0.9)] ?? 0
  assert.ok(slow < 250, `nine of ten took less than ${slow} ms`)
  assert.equal(rig.log.filter(({ event }) => event === 'auth.refused').length, 1)
})

interface Listener {
  name: string
  address(rig: Rig): NetConnectOpts
}

const LISTENERS: readonly Listener[] = [
  { name: 'clients', address: ({ port }) => ({ port, host: '127.0.0.1' }) },
  {
    name: 'ops',
    address: ({ opsUrl }) => ({ port: Number(new URL(opsUrl).port), host: '127.0.0.1' }),
  },
  {
    name: 'admin',
    address: ({ gateway }) => ({ path: gateway.parts.config().admin.socket ?? '' }),
  },
]

const PATHS: Readonly<Record<string, string>> = {
  clients: '/api/tags',
  ops: '/metrics',
  admin: '/v1/health',
}

/** One whole request, in words of one line. */
async function statusOf(address: NetConnectOpts, path: string): Promise<string> {
  const { socket, received, ended } = dial(address)
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`)
  await until(ended, { what: 'the answer to end' })
  return received().split('\r\n', 1)[0] ?? ''
}

suite('on every listener', () => {
  for (const { name, address } of LISTENERS) {
    test(`${name}: a head of 1 MB is 431, and the next request is served`, async () => {
      await using rig = await startRig({ workers: [{ models: ['m:1b'] }] })
      const path = PATHS[name] ?? ''
      const many = Array.from({ length: 20 }, async () => {
        const { socket, received, ended } = dial(address(rig))
        socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nx-big: ${'x'.repeat(1024 * 1024)}`)
        await until(ended, { what: 'the connection to end' })
        return received()
      })
      for (const text of await Promise.all(many)) {
        assert.match(text.slice(0, 400), /^HTTP\/1\.1 431 /)
        if (name === 'clients') assert.match(text, /\{"error":"[^"]*64 KiB"\}$/)
      }
      assert.equal(await statusOf(address(rig), path), 'HTTP/1.1 200 OK')
    })
  }

  // The limits of the client side are shorter in a test of its server; these are the real ones.
  test('heads that drip are cut within seconds, and others are served meanwhile', async () => {
    await using rig = await startRig({ workers: [{ models: ['m:1b'] }] })
    const dripping = LISTENERS.map(({ name, address }) => {
      const path = PATHS[name] ?? ''
      const drips = Array.from({ length: 60 }, () => dial(address(rig)))
      for (const { socket } of drips) socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n`)
      return { name, path, address: address(rig), drips }
    })
    const sockets = dripping.flatMap(({ drips }) => drips.map(({ socket }) => socket))
    const drop = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write('x')
    }, 500)
    try {
      for (const { address, path } of dripping) {
        assert.equal(await statusOf(address, path), 'HTTP/1.1 200 OK')
      }
      for (const { name, drips } of dripping.filter(({ name }) => name !== 'clients')) {
        const over = () => drips.every(({ ended }) => ended())
        await until(over, { timeoutMs: 16_000, what: `${name} to cut those that drip` })
      }
    } finally {
      clearInterval(drop)
      for (const socket of sockets) socket.destroy()
    }
  })
})
