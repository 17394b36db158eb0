// The control route does over HTTP what the handle does in process, and the record
// says what was really on the wire.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CONTROL_ROUTES } from '../../../src/cli/simulator/control.ts'
import { FAULT_KINDS } from '../../../src/cli/simulator/faults.ts'
import { startSimulatedWorker } from '../../../src/cli/simulator/worker.ts'
import { send } from '../../support/raw-client.ts'
import { ask, chatBody } from '../../support/sim-client.ts'

const json = async (answer: Promise<{ text: string }>): Promise<Record<string, unknown>> =>
  JSON.parse((await answer).text) as Record<string, unknown>

test('faults are added, listed and taken away', async () => {
  await using worker = await startSimulatedWorker()
  const { ids } = await json(
    ask(worker.url, '/_sim/faults', [{ kind: 'empty' }, { kind: 'status', status: 500 }]).answer,
  )
  assert.deepEqual(ids, [1, 2])
  await ask(worker.url, '/_sim/faults', { id: 1 }, 'DELETE').answer
  assert.equal((await ask(worker.url, '/api/version').answer).status, 500)
  await ask(worker.url, '/_sim/faults', undefined, 'DELETE').answer
  assert.equal((await ask(worker.url, '/api/version').answer).status, 200)
  const refused = await ask(worker.url, '/_sim/faults', { kind: 'gremlins' }).answer
  assert.deepEqual(
    [refused.status, refused.text],
    [400, '{"error":"no such fault: \\"gremlins\\""}\n'],
  )
})

test('models are replaced, and settings changed', async () => {
  await using worker = await startSimulatedWorker()
  await ask(worker.url, '/_sim/models', { models: ['x:1b', { name: 'y:1b', context: 8192 }] })
    .answer
  assert.deepEqual(
    worker.models
      .list()
      .map(({ name }) => name)
      .toSorted(),
    ['x:1b', 'y:1b'],
  )
  assert.equal((await ask(worker.url, '/_sim/models', { models: [5] }).answer).status, 400)
  await ask(worker.url, '/_sim/settings', { tokens: 2 }).answer
  const { text } = await ask(worker.url, '/api/chat', chatBody('x:1b')).answer
  assert.equal(text.trim().split('\n').length, 3)
  assert.equal((await ask(worker.url, '/_sim/settings', { port: 1 }).answer).status, 400)
})

test('the record has each request byte for byte, and control is not in it', async () => {
  await using worker = await startSimulatedWorker({ models: ['x:1b'] })
  const body = ' {"model":"X:1B","MODEL":"x:1b", "messages":[]}'
  await send(worker.port, {
    method: 'POST',
    path: '/api/chat?a=%2F',
    headers: [
      ['X-Odd', 'ÿ'],
      ['x-odd', 'b'],
      ['Connection', 'close'],
    ],
    body,
  }).answer
  const { requests, counts, connections } = await json(ask(worker.url, '/_sim/record').answer)
  assert.deepEqual(counts, { 'POST /api/chat': 1 })
  assert.equal((connections as { opened: number }).opened, 2)
  const [seen] = requests as Record<string, unknown>[]
  assert.equal(seen?.['url'], '/api/chat?a=%2F')
  assert.equal(seen?.['body'], body)
  assert.equal(seen?.['framing'], 'content-length')
  assert.equal(seen?.['model'], 'x:1b')
  assert.deepEqual(
    ((seen?.['headers'] ?? []) as string[][]).map(([name]) => name),
    ['Host', 'X-Odd', 'x-odd', 'Connection', 'Content-Length'],
  )
  worker.record.reset()
  assert.equal(worker.record.requests().length, 0)
})

test('the highest concurrency is kept, over all and by model', async () => {
  await using worker = await startSimulatedWorker({
    models: ['x:1b', 'y:1b'],
    tokenMs: 20,
    slots: 2,
  })
  const asked = ['x:1b', 'x:1b', 'y:1b'].map((model) =>
    ask(worker.url, '/api/chat', chatBody(model)),
  )
  await worker.waitFor('slot-taken', { count: 3 })
  await Promise.all(asked.map(({ answer }) => answer))
  const { high, now, models } = worker.record.concurrency()
  assert.deepEqual([high, now, models['x:1b']?.high, models['y:1b']?.high], [3, 0, 2, 1])
})

test('a peer that hangs up is recorded with the chunk it left at', async () => {
  await using worker = await startSimulatedWorker({ models: ['x:1b'], tokenMs: 20, tokens: 1000 })
  const asked = ask(worker.url, '/api/chat', chatBody('x:1b'))
  await worker.waitFor('chunk-sent', { count: 3 })
  asked.leave()
  await worker.waitFor('peer-closed')
  assert.ok((worker.record.requests()[0]?.hungUp?.chunk ?? 0) >= 3)
})

test('two workers of one seed say the same words', async () => {
  const texts = []
  for (let round = 0; round < 2; round += 1) {
    await using worker = await startSimulatedWorker({ seed: 7, models: ['x:1b'] })
    const { text } = await ask(worker.url, '/api/chat', chatBody('x:1b')).answer
    texts.push([...text.matchAll(/"content":"([^"]*)"/gu)].map(([, word]) => word).join(''))
  }
  assert.equal(texts[0], texts[1])
  assert.notEqual(texts[0], '')
})

test('the page about the simulation names every fault and every control route', () => {
  const page = readFileSync('docs/simulator.md', 'utf8')
  const missing = [...FAULT_KINDS].filter((kind) => !page.includes(`\n| \`${kind}\` `))
  assert.deepEqual(missing, [])
  assert.deepEqual(
    CONTROL_ROUTES.filter((route) => !page.includes(`\`${route}\``)),
    [],
  )
})
