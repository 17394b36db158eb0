// B146 through the real gateway: whatever clients call their models, keys and sessions, the number
// of series stays that of the fleet, and what was in flight ends at 0.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../../support/rig.ts'

const MODELS = Array.from({ length: 20 }, (_, index) => `model-${index}:8b`)

test('names that clients make up are one series; gauges end at 0', async () => {
  await using rig = await startRig({ workers: [{ models: MODELS }] })
  const chat = (model: unknown, index: number) =>
    rig
      .post(
        '/v1/chat/completions',
        { model, user: `user-${index}`, messages: [{ role: 'user', content: 'hi' }] },
        { headers: { 'x-session-id': `session-${index}`, authorization: `Bearer key-${index}` } },
      )
      .then((answer) => answer.arrayBuffer())
  for (let round = 0; round < 20; round += 1) {
    const names = Array.from({ length: 20 }, (_, index) => `made-up-${round}-${index}`)
    await Promise.all(names.map(chat))
  }
  await Promise.all([{}, 7, null, '', 'x'.repeat(200), 'a"b\nc'].map(chat))
  await Promise.all(MODELS.map(chat))
  await rig.quiet()
  const text = await (await fetch(`${rig.opsUrl}/metrics`)).text()
  assert.ok(text.length < 1_000_000)
  const own = text.split('\n').filter((line) => line.startsWith('ollama_gateway_'))
  assert.ok(own.length < 400, String(own.length))
  assert.doesNotMatch(own.join('\n'), /made-up|user-\d|session-\d|key-\d|xxxx/)
  assert.match(text, /ollama_gateway_requests_total\{[^}]*model="other"[^}]*\} \d{3}/)
  const gauges = own.filter((line) =>
    /^ollama_gateway_(?:inflight|queue_depth|worker_model_active)\{/.test(line),
  )
  assert.ok(gauges.length >= 3, gauges.join())
  assert.deepEqual(
    gauges.filter((line) => !line.endsWith(' 0')),
    [],
  )
})
