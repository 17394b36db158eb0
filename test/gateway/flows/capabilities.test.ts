// What a model can do, as far as its worker says. What is not known passes; what is known belongs
// to one digest on one worker.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Fault } from '../../../src/cli/simulator/worker.ts'
import { startRig } from '../../support/rig.ts'
import { until } from '../../support/until.ts'

const tools = [
  { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
]
const image = 'iVBORw0KGgo='
const everything = (model: string) => ({
  model,
  messages: [{ role: 'user', content: 'x', images: [image] }],
  tools,
  stream: false,
})

const OLD = {
  version: '0.5.7',
  models: [{ name: 'alpha:8b', capabilities: ['completion', 'tools', 'vision'] }],
}

/** What old or broken workers answer to show. */
const SHOWS: readonly { name: string; fault: Fault }[] = [
  {
    name: 'no field',
    fault: { kind: 'status', status: 200, body: '{"details":{}}', path: '/api/show' },
  },
  {
    name: 'null',
    fault: { kind: 'status', status: 200, body: '{"capabilities":null}', path: '/api/show' },
  },
  {
    name: '404',
    fault: { kind: 'status', status: 404, body: '{"error":"no"}', path: '/api/show' },
  },
  {
    name: '500',
    fault: { kind: 'status', status: 500, body: '{"error":"no"}', path: '/api/show' },
  },
  {
    name: 'HTML',
    fault: {
      kind: 'status',
      status: 200,
      body: '<html>',
      contentType: 'text/html',
      path: '/api/show',
    },
  },
  { name: 'silence', fault: { kind: 'silent', path: '/api/show' } },
]

// B118: unknown is not "none". Tools and images pass, the worker itself decides; a show that hangs
// costs no request its patience, least of all each one.
suite('what a worker does not say is no reason to refuse', { concurrency: true }, () => {
  for (const { name, fault } of SHOWS) {
    test(`show: ${name}`, async () => {
      await using rig = await startRig({ workers: [OLD] })
      const [sim] = rig.sims
      await sim?.faults.add(fault)
      await sim?.faults.add({
        kind: 'status',
        status: 200,
        body: '{"done":true}',
        path: '/api/chat',
      })
      const first = await rig.post('/api/chat', everything('alpha:8b'))
      assert.equal(first.status, 200, await first.text())
      const started = performance.now()
      for (let round = 0; round < 5; round += 1) {
        const answer = await rig.post('/api/chat', everything('alpha:8b'))
        assert.equal(answer.status, 200)
        await answer.text()
      }
      assert.ok(performance.now() - started < 2_000, 'no delay with each request')
      assert.ok((sim?.record.counts()['POST /api/show'] ?? 0) <= 1)
      await sim?.faults.clear()
    })
  }
})

// B120: pulled anew, the same name is another model; what was known of the old digest is void with
// the next reading of the list.
test('another digest is another model, with what it can do', async () => {
  const before = { name: 'alpha:8b', capabilities: ['completion'], digest: '1'.repeat(64) }
  await using rig = await startRig({ workers: [{ models: [before] }] })
  const ask = () =>
    rig.post('/api/chat', {
      model: 'alpha:8b',
      messages: [{ role: 'user', content: 'x' }],
      tools,
      stream: false,
    })
  const refused = await ask()
  assert.equal(refused.status, 400)
  assert.match(await refused.text(), /tools/)
  rig.sims[0]?.models.replace([
    { ...before, capabilities: ['completion', 'tools'], digest: '2'.repeat(64) },
  ])
  await until(
    async () => {
      const answer = await ask()
      await answer.text()
      return answer.status === 200
    },
    { what: 'the new digest to be known' },
  )
})

// B120: one worker's older build lacks what another's has. The request goes to the one that can.
test('a request goes to the worker whose copy can do it', async () => {
  const digest = '3'.repeat(64)
  await using rig = await startRig({
    workers: [
      { models: [{ name: 'alpha:8b', capabilities: ['completion'], digest }] },
      { models: [{ name: 'alpha:8b', capabilities: ['completion', 'tools'], digest }] },
    ],
  })
  for (let round = 0; round < 6; round += 1) {
    const answer = await rig.post('/api/chat', {
      model: 'alpha:8b',
      messages: [{ role: 'user', content: 'x' }],
      tools,
      stream: false,
    })
    assert.equal(answer.status, 200, await answer.text())
    assert.equal(answer.headers.get('x-ogw-worker'), 'node-2')
    await answer.text().catch(() => '')
  }
})
