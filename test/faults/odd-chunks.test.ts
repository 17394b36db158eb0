// Answers cut at odd places: in a character, in a line, between a line and its end. The client
// gets the bytes as they come; what the gateway reads on the way past is right all the same.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ScriptStep } from '../../src/cli/simulator/worker.ts'
import { STREAM_REQUESTS } from '../support/dialect-requests.ts'
import { startRig } from '../support/rig.ts'
import { ask, chatBody } from '../support/sim-client.ts'
import { until } from '../support/until.ts'

const WORDS = 'Größe 渐🚀 e\u0301'

/** A whole stream of each dialect that says WORDS and counts 5 and 7 tokens. */
const STREAMS: Readonly<Record<string, string>> = {
  '/api/chat': `{"model":"alpha:8b","message":{"role":"assistant","content":"${WORDS}"},"done":false}\n{"model":"alpha:8b","message":{"role":"assistant","content":""},"done":true,"prompt_eval_count":5,"eval_count":7}\n`,
  '/api/generate': `{"model":"alpha:8b","response":"${WORDS}","done":false}\n{"model":"alpha:8b","response":"","done":true,"prompt_eval_count":5,"eval_count":7}\n`,
  '/v1/chat/completions': `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\\"a\\":\\"${WORDS}\\"}"}}]}}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}\n\ndata: [DONE]\n\n`,
  '/v1/completions': `data: {"choices":[{"index":0,"text":"${WORDS}"}]}\n\ndata: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}\n\ndata: [DONE]\n\n`,
  '/v1/responses': `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"${WORDS}","sequence_number":1}\n\nevent: response.completed\ndata: {"type":"response.completed","sequence_number":2,"response":{"id":"r","usage":{"input_tokens":5,"output_tokens":7}}}\n\n`,
  '/v1/messages': `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${WORDS}"}}\n\nevent: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":5,"output_tokens":7}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`,
}

// B047: one byte a chunk, so that every character and every line is cut at every place. What comes
// out is what went in, and the counts at its end are read.
for (const { path, body } of STREAM_REQUESTS) {
  test(`one byte a chunk: ${path}`, async () => {
    await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
    const sent = Buffer.from(STREAMS[path] ?? '')
    const chunks = [...sent].map((byte) => ({ base64: Buffer.from([byte]).toString('base64') }))
    await rig.sims[0]?.faults.add({ kind: 'script', chunks, gapMs: 1, path })
    const answer = await rig.post(path, { model: 'alpha:8b', ...body, stream: true })
    const received = Buffer.from(await answer.arrayBuffer())
    assert.ok(received.equals(sent), received.toString())
    assert.ok(!received.toString().includes('\uFFFD'))
    const { outcome, prompt_tokens, output_tokens, estimated } = await rig.logged('request.done')
    assert.deepEqual([outcome, prompt_tokens, output_tokens, estimated], ['ok', 5, 7, false])
  })
}

const line = (word: string): string =>
  `{"model":"alpha:8b","message":{"role":"assistant","content":"${word}"},"done":false}\n`

/** The last line without its newline, as some proxies leave it. */
const LAST =
  '{"model":"alpha:8b","message":{"role":"assistant","content":""},"done":true,"prompt_eval_count":3,"eval_count":4}'

// B049: three lines in one chunk, one line in five, a newline of its own, and a last line that is
// not ended. Each piece is passed on when it comes, not when its line is whole.
test('pieces are passed on as they come, whatever they are pieces of', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  const split = line('split').slice(0, -1)
  const pieces = [
    line('a') + line('b') + line('c'),
    ...[0, 1, 2, 3, 4].map((at) => split.slice(at * 17, at === 4 ? undefined : at * 17 + 17)),
    '\n',
    LAST,
  ]
  const steps: ScriptStep[] = [
    {
      send: 'HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n',
    },
    ...pieces.flatMap((piece): ScriptStep[] => [
      { send: `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n` },
      { wait: 300 },
    ]),
    { send: '0\r\n\r\n' },
  ]
  await rig.sims[0]?.faults.add({ kind: 'raw', steps, path: '/api/chat' })
  const asked = ask(rig.url, '/api/chat', chatBody('alpha:8b'))
  await asked.headers
  let whole = ''
  const began = performance.now()
  for (const [at, piece] of pieces.entries()) {
    whole += piece
    const expected = whole
    await until(() => asked.received() === expected, {
      timeoutMs: 5_000,
      intervalMs: 2,
      what: `piece ${at} alone`,
    })
  }
  assert.ok(performance.now() - began > 1_500, 'one after the other, not together at the end')
  const { complete } = await asked.answer
  assert.ok(complete)
  const { outcome, prompt_tokens, output_tokens } = await rig.logged('request.done')
  assert.deepEqual([outcome, prompt_tokens, output_tokens], ['ok', 3, 4])
})
