// A real process that is told to end: what runs ends well, what is new is refused, nothing hangs.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import path from 'node:path'
import { suite, test } from 'node:test'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import { AdminClient } from '../../src/gateway/contract/client.ts'
import { socketTransport } from '../../src/gateway/contract/transport.ts'
import { startServing } from '../support/serve-process.ts'
import type { Serving } from '../support/serve-process.ts'
import { ask, chatBody } from '../support/sim-client.ts'
import { until } from '../support/until.ts'

const endedWithin = async (gateway: Serving, ms: number): Promise<number | null> => {
  const started = performance.now()
  const code = await gateway.ended
  const took = performance.now() - started
  assert.ok(
    took < ms,
    `ended after ${took.toFixed(0)} ms: ${JSON.stringify(gateway.log.slice(-3))}`,
  )
  return code
}

const speed = { models: ['alpha:8b'], tokens: 30, tokenMs: 50, slots: 8 }

suite('SIGTERM', { concurrency: true }, () => {
  // B045: what runs when the order comes, ends well; what waits in the queue does too; what is new
  // is refused at once. Then the process ends by itself, with 0, and what it learned is on disk.
  test('running and waiting requests end well, new ones are refused, exit 0', async () => {
    await using sim = await startSimulatedWorker(speed)
    await using gateway = await startServing(sim.url, {
      workers: worker(sim.url, { max_concurrent: 4 }),
    })
    const running = await keptAliveStream(gateway.port)
    const streams = Array.from({ length: 4 }, (_, index) =>
      ask(gateway.url, index % 2 ? '/api/chat' : '/v1/chat/completions', {
        ...chatBody('alpha:8b'),
        stream: true,
      }),
    )
    await until(() => streams.filter((one) => one.received() !== '').length === 3)
    const kept = await keptAlive(gateway.port)
    gateway.kill('SIGTERM')
    await until(async () => (await refusal(gateway)) !== undefined, {
      what: 'new work to be refused',
    })
    assert.ok(
      streams.some((one) => !one.received().includes('done')),
      'while the streams still run',
    )
    for (const one of streams) {
      const { status, text, complete } = await one.answer
      assert.equal(status, 200)
      assert.ok(complete)
      assert.match(text, /"done":true[^\n]*\n$|data: \[DONE\]\n\n$/)
    }
    assert.equal(await gateway.ended, 0)
    assert.equal(gateway.log.at(-1)?.event, 'gateway.stopped')
    assert.equal(gateway.log.at(-1)?.['cut'], 0)
    assert.match(await learned(gateway), /alpha/)
    assert.ok(running.text.endsWith('0\r\n\r\n'), 'a stream on a kept connection too')
    kept.destroy()
  })

  // B045: the second order is for those who do not want to wait.
  test('a second signal ends everything at once, and saves what was learned', async () => {
    await using sim = await startSimulatedWorker({ ...speed, tokens: 2_000 })
    await using gateway = await startServing(sim.url)
    const short = { ...chatBody('alpha:8b'), options: { num_predict: 3 } }
    await ask(gateway.url, '/api/chat', short).answer
    const stream = ask(gateway.url, '/api/chat', chatBody('alpha:8b'))
    await until(() => stream.received() !== '')
    gateway.kill('SIGTERM')
    await until(async () => (await refusal(gateway)) !== undefined)
    gateway.kill('SIGTERM')
    assert.equal(await endedWithin(gateway, 3_000), 0)
    const { complete } = await stream.answer
    assert.equal(complete, false, 'a cut stream is no whole one')
    assert.match(await learned(gateway), /alpha/)
    await until(() => sim.record.requests().some(({ hungUp }) => hungUp !== undefined))
  })

  // B045: no second signal comes, and a stream that never ends: the deadline of the config does.
  test('drain_timeout ends what does not end by itself', async () => {
    await using sim = await startSimulatedWorker({ ...speed, tokens: 2_000 })
    await using gateway = await startServing(sim.url, { drain_timeout: '1s' })
    const stream = ask(gateway.url, '/api/chat', chatBody('alpha:8b'))
    await until(() => stream.received() !== '')
    gateway.kill('SIGTERM')
    assert.equal(await endedWithin(gateway, 6_000), 0)
    assert.equal((await stream.answer).complete, false)
    assert.equal(gateway.log.at(-1)?.['cut'], 1)
  })

  // B046: browsers and Prometheus keep idle connections, an operator's console is attached, and
  // nothing runs: none of them may hold the process for its whole grace period.
  test('idle connections and an attached console do not hold the exit', async () => {
    await using sim = await startSimulatedWorker(speed)
    await using gateway = await startServing(sim.url)
    const used = await Promise.all(Array.from({ length: 10 }, () => keptAlive(gateway.port)))
    const unused = Array.from({ length: 3 }, () => connect(gateway.port, '127.0.0.1'))
    for (const socket of unused) socket.on('error', () => {})
    const told = Promise.withResolvers<string>()
    const admin = new AdminClient({ transport: socketTransport([gateway.socket]), actor: 'test' })
    const attached = Promise.withResolvers<void>()
    const handlers = {
      onSnapshot: () => attached.resolve(),
      onError: (error: Error) => told.resolve(error.message),
    }
    void admin.watch(handlers, new AbortController().signal)
    await attached.promise
    gateway.kill('SIGTERM')
    assert.equal(await endedWithin(gateway, 2_000), 0)
    assert.ok((await told.promise).length > 0, 'the console hears that its gateway is gone')
    for (const socket of [...used, ...unused]) await until(() => socket.destroyed)
  })
})

const worker = (url: string, more: Record<string, unknown>) => [{ name: 'node-1', url, ...more }]

/** An idle connection on which a request has been answered. */
async function keptAlive(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.write(`GET /api/version HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`)
  await new Promise((resolve) => socket.once('data', resolve))
  return socket
}

/** A running stream on a connection that its client means to keep. */
async function keptAliveStream(port: number): Promise<{ text: string }> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const body = JSON.stringify(chatBody('alpha:8b'))
  const seen = { text: '' }
  socket.on('data', (chunk) => (seen.text += String(chunk)))
  socket.write(
    `POST /api/chat HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  await until(() => seen.text.includes('"content"'))
  return seen
}

/** How new work is refused; undefined where it is not. */
async function refusal(gateway: Serving): Promise<string | undefined> {
  try {
    const answer = await ask(gateway.url, '/api/version').answer
    return answer.status === 503 ? answer.text : undefined
  } catch (error) {
    return String(error)
  }
}

const learned = (gateway: Serving): Promise<string> =>
  readFile(path.join(gateway.folder, 'state', 'worker-performance.json'), 'utf8')
