// For an alias the answer names the model that the client asked for, and not one other byte changes.

import assert from 'node:assert/strict'
import test from 'node:test'

import { createModelRewriter } from '../../../src/gateway/dialects/model-rewriter.ts'

function rewrite(chunks: readonly Buffer[]): string {
  const rewriter = createModelRewriter('qwen3:32b', 'gpt-4o')
  return Buffer.concat([...chunks, undefined].flatMap((chunk) => rewriter(chunk))).toString()
}

const ROWS: [name: string, before: string, after: string][] = [
  [
    'native lines',
    '{"model":"qwen3:32b","response":"渐🚀","done":false}\n{"model":"qwen3:32b","done":true}\n',
    '{"model":"gpt-4o","response":"渐🚀","done":false}\n{"model":"gpt-4o","done":true}\n',
  ],
  [
    'OpenAI chunks',
    'data: {"id":"c","choices":[],"model":"qwen3:32b"}\n\ndata: [DONE]\n\n',
    'data: {"id":"c","choices":[],"model":"gpt-4o"}\n\ndata: [DONE]\n\n',
  ],
  [
    'the message of message_start',
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"qwen3:32b","content":[]}}\n\n',
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","model":"gpt-4o","content":[]}}\n\n',
  ],
  [
    'the response of an event of Responses',
    'data: {"response":{"metadata":{"model":"qwen3:32b"},"model":"qwen3:32b","tools":[]},"type":"response.created"}\n\n',
    'data: {"response":{"metadata":{"model":"qwen3:32b"},"model":"gpt-4o","tools":[]},"type":"response.created"}\n\n',
  ],
]

const UNCHANGED: string[] = [
  '{"model":"qwen3:32","response":"x"}\n',
  '{"model":"qwen3:32b-q4","response":"x"}\n',
  '{"model":"","response":"x"}\n',
  '{"model":null,"mo":"del","modelmodel":"qwen3:32b"}\n',
  // Content that quotes JSON, a tool's argument of that name, and a key that ends with it.
  '{"response":"\\"model\\":\\"qwen3:32b\\"","done":false}\n',
  '{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"model":"qwen3:32b"}}}]}}\n',
  '{"message":{"role":"assistant"},"metadata":{"model":"qwen3:32b"}}\n',
  '{"x\\"model":"qwen3:32b"}\n',
  'data: {"choices":[{"model":"qwen3:32b"}]}\n\n',
  '{"model":"qwen3',
  '{"model',
]

test('the model is put back, split anywhere', () => {
  const rows: [string, string][] = [
    ...ROWS.map(([, before, after]): [string, string] => [before, after]),
    ...UNCHANGED.map((text): [string, string] => [text, text]),
  ]
  for (const [before, after] of rows) {
    const bytes = Buffer.from(before)
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const parts = [bytes.subarray(0, cut), bytes.subarray(cut)]
      assert.equal(rewrite(parts), after, `${before} cut at ${cut}`)
    }
    const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
    assert.equal(rewrite(single), after, `${before} byte by byte`)
  }
})

test('nothing is held back but the beginning of a model', () => {
  const rewriter = createModelRewriter('qwen3:32b', 'gpt-4o')
  const given = Buffer.from('{"id":1,"mod')
  assert.equal(Buffer.concat(rewriter(given)).toString(), '{"id":1,')
  assert.equal(Buffer.concat(rewriter(Buffer.from('e":2}'))).toString(), '"mode":2}')
})

test('bytes are passed on without a copy', () => {
  const rewriter = createModelRewriter('qwen3:32b', 'gpt-4o')
  const chunk = Buffer.from('{"done":false}\n')
  const [out, ...more] = rewriter(chunk)
  assert.equal(out?.buffer, chunk.buffer)
  assert.deepEqual([out?.length, more.length], [chunk.length, 0])
})
