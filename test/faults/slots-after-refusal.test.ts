// Requests that are refused, at whatever gate, leave no slot taken behind them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../support/rig.ts'
import { chatBody } from '../support/sim-client.ts'

const tool = {
  type: 'function',
  function: { name: 'f', parameters: { type: 'object', properties: {} } },
}
const image = 'iVBORw0KGgo='

/** One of each refusal that a request can meet before it is sent. */
const REFUSALS: readonly { name: string; path?: string; body: string; status: number }[] = [
  { name: 'bad JSON', body: '{"model":', status: 400 },
  { name: 'no object', body: '[1]', status: 400 },
  { name: 'empty', body: '', status: 400 },
  { name: 'no model', body: '{"messages":[]}', status: 400 },
  { name: 'too large', body: `{"model":"alpha:8b","x":"${'x'.repeat(70_000)}"}`, status: 413 },
  { name: 'unknown model', body: JSON.stringify(chatBody('nobody:1b')), status: 404 },
  { name: 'blocked by placement', body: JSON.stringify(chatBody('blocked:1b')), status: 403 },
  { name: 'cloud', body: JSON.stringify(chatBody('big:cloud')), status: 403 },
  {
    name: 'capability',
    body: JSON.stringify(chatBody('plain:1b', { tools: [tool] })),
    status: 400,
  },
  {
    name: 'capability, vision',
    body: JSON.stringify({
      model: 'plain:1b',
      messages: [{ role: 'user', content: 'x', images: [image] }],
    }),
    status: 400,
  },
  {
    name: 'not an embedding model',
    path: '/api/embed',
    body: JSON.stringify({ model: 'plain:1b', input: 'a' }),
    status: 400,
  },
]

// B032: twenty refusals of each kind, then the one slot is free for a plain chat, at once.
test('whatever refuses a request, its slot is free afterwards', async () => {
  await using rig = await startRig({
    workers: [
      {
        models: [
          { name: 'alpha:8b', capabilities: ['completion', 'tools'] },
          { name: 'plain:1b', capabilities: ['completion'] },
          'blocked:1b',
        ],
      },
    ],
    workerConfig: {
      max_concurrent: 1,
      model_placement: { denied_models: ['blocked:1b'] },
    },
    config: { admission: { max_body_bytes: 65_536 } },
  })
  const { scheduler } = rig.gateway.parts
  for (const { name, path = '/api/chat', body, status } of REFUSALS) {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => fetch(rig.url + path, { method: 'POST', body })),
    )
    for (const answer of answers)
      assert.equal(answer.status, status, `${name}: ${await answer.text()}`)
    await rig.quiet()
    assert.equal(scheduler.inFlight('node-1'), 0, name)
    const started = performance.now()
    const chat = await rig.post('/api/chat', chatBody('alpha:8b'))
    assert.equal(chat.status, 200, `after ${name}: ${await chat.text()}`)
    assert.ok(performance.now() - started < 2_000, `after ${name} the slot was not free`)
    await chat.text().catch(() => '')
  }
})
