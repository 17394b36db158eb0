// Answers that are whole while their connection is not done: a proxy in between, or the worker,
// keeps it open after the last word, or breaks it off without the end of its framing. Nothing is
// missing then: the client gets a clean end, and the slot is free.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { STREAM_REQUESTS } from '../support/dialect-requests.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'

const NATIVE = '"done":true,"prompt_eval_count":5,"eval_count":7}\n'

/** The last piece of a whole stream of each dialect, which counts 5 and 7 tokens. */
const WHOLE: Readonly<Record<string, string>> = {
  '/api/chat': `{"model":"alpha:8b","message":{"role":"assistant","content":"Hel"},${NATIVE}`,
  '/api/generate': `{"model":"alpha:8b","response":"Hel",${NATIVE}`,
  '/v1/chat/completions':
    'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}\n\ndata: [DONE]\n\n',
  '/v1/completions':
    'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}\n\ndata: [DONE]\n\n',
  '/v1/responses':
    'event: response.completed\ndata: {"type":"response.completed","sequence_number":2,"response":{"id":"r","usage":{"input_tokens":5,"output_tokens":7}}}\n\n',
  '/v1/messages':
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":5,"output_tokens":7}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
}

/** `limits` by which a stream that is not over would go on for long. */
const patient = (): Promise<Rig> =>
  startRig({
    workers: [{ models: ['alpha:8b'] }],
    config: { upstream: { stream_idle_grace: '5m', stream_idle_timeout: '10m' } },
  })

for (const end of ['hang', 'fin', 'rst'] as const) {
  suite(`the last word, and then: ${end}`, () => {
    for (const { path, body } of STREAM_REQUESTS) {
      test(path, async () => {
        await using rig = await patient()
        const sent = WHOLE[path] ?? ''
        await rig.sims[0]?.faults.add({ kind: 'script', path, chunks: [sent], gapMs: 20, end })
        const answer = await rig.post(path, { model: 'alpha:8b', ...body, stream: true })
        assert.equal(await answer.text(), sent)
        const { outcome, prompt_tokens, output_tokens } = await rig.logged('request.done')
        assert.deepEqual([outcome, prompt_tokens, output_tokens], ['ok', 5, 7])
        const [worker] = rig.gateway.parts.fleet.workers()
        assert.equal(worker?.addresses[0]?.lastError, undefined, 'nobody is blamed')
      })
    }
  })
}

const DOCUMENT = `{"model":"alpha:8b","message":{"role":"assistant","content":"}"},${NATIVE}`

// An answer that is not streamed has a last word too: the brace that closes it.
for (const end of ['hang', 'rst'] as const) {
  test(`a whole document, and then: ${end}`, async () => {
    await using rig = await patient()
    const at = DOCUMENT.indexOf('}') + 1
    const chunks = [DOCUMENT.slice(0, at), DOCUMENT.slice(at)]
    await rig.sims[0]?.faults.add({ kind: 'script', path: '/api/chat', chunks, gapMs: 1_500, end })
    const answer = await rig.post('/api/chat', {
      model: 'alpha:8b',
      messages: [{ role: 'user', content: 'hi' }],
      stream: false,
    })
    assert.deepEqual([answer.status, await answer.text()], [200, DOCUMENT])
    const { outcome, prompt_tokens, output_tokens } = await rig.logged('request.done')
    assert.deepEqual([outcome, prompt_tokens, output_tokens], ['ok', 5, 7])
  })
}

// The page of a proxy, or of the login before it, with the status of success: it is no answer of a
// model. A twin takes over; alone the client is told in its dialect, streaming or not.
for (const stream of [true, false]) {
  test(`a web page is no answer: ${stream ? 'streaming' : 'not streaming'}`, async () => {
    await using rig = await startRig({
      workers: [{ models: ['alpha:8b', 'beta:4b'] }, { models: ['alpha:8b'] }],
    })
    const page = { kind: 'status', status: 200, contentType: 'text/html; charset=utf-8' } as const
    await rig.sims[0]?.faults.add({ ...page, body: '<html>log in</html>' })
    for (const { path, body } of STREAM_REQUESTS) {
      const twin = await rig.post(path, { model: 'alpha:8b', max_tokens: 9, ...body, stream })
      assert.equal(twin.status, 200)
      assert.ok(!(await twin.text()).includes('<html>'), path)
      const alone = await rig.post(path, { model: 'beta:4b', max_tokens: 9, ...body, stream })
      assert.equal(alone.status, 502)
      assert.match(await alone.text(), /"error":.*node-1: answered with a web page/, path)
    }
  })
}
