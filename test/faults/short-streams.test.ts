// Answers to streaming requests that come whole, with a length, and are not what was asked for:
// a document of something else, one that is cut. The client is told, as it is of any other stream.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../support/rig.ts'

const MESSAGES = [{ role: 'user', content: 'x' }]

for (const path of ['/api/chat', '/v1/chat/completions', '/v1/messages']) {
  test(`${path}: a short answer that is no finished stream is told`, async () => {
    await using rig = await startRig({ workers: [{ models: ['qwen3:8b'] }] })
    const body = 'not here'
    const answer = { status: 200, contentType: 'text/plain', body }
    await rig.sims[0]?.faults.add({ kind: 'status', path, ...answer })
    const request = { model: 'qwen3:8b', messages: MESSAGES, stream: true, max_tokens: 9 }
    const text = await (await rig.post(path, request)).text()
    assert.ok(text.startsWith(body))
    assert.match(text, /error.*without finishing the answer/s)
    assert.equal(rig.done[0]?.outcome, 'broken')
  })
}
