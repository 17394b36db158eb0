// What a client writes reaches the worker byte for byte, and what the worker answers comes back
// the same: fields that the gateway does not know, types that look wrong, shapes of its own.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startRig } from '../../support/rig.ts'

interface Sent {
  name: string
  path: string
  body: string
}

const chat = (more: string): string =>
  `{"model":"alpha:8b","messages":[{"role":"user","content":"x"}],${more}}`
const ALPHA = { name: 'alpha:8b', capabilities: ['completion', 'tools', 'thinking'] }
const BROKEN_CALLS =
  '{"model":"alpha:8b","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\\"a\\":1}{\\"b\\":2}"}}]},{"role":"tool","tool_call_id":"c1","content":"1"}]}'

const SENT: readonly Sent[] = [
  {
    name: 'B079 think as a boolean',
    path: '/api/chat',
    body: chat('"think":false,"stream":false'),
  },
  { name: 'B079 think as a word', path: '/api/chat', body: chat('"think":"high"') },
  {
    name: 'B079 think in generate',
    path: '/api/generate',
    body: '{"model":"alpha:8b","prompt":"x","think":true}',
  },
  {
    name: 'B079 reasoning_effort',
    path: '/v1/chat/completions',
    body: chat('"reasoning_effort":"none"'),
  },
  {
    name: 'B079 reasoning of Responses',
    path: '/v1/responses',
    body: '{"model":"alpha:8b","input":"x","reasoning":{"effort":"high"}}',
  },
  {
    name: 'B079 thinking of Anthropic',
    path: '/v1/messages',
    body: chat('"max_tokens":64,"thinking":{"type":"enabled","budget_tokens":1024}'),
  },
  ...['/api/chat', '/v1/chat/completions', '/v1/messages'].map((path) => ({
    name: `B079 unknown fields ${path}`,
    path,
    body: chat('"max_tokens":64,"x_new":{"a":[1,2.50,1e3,null]},"stream":  false'),
  })),
  { name: 'B100 format: ""', path: '/api/chat', body: chat('"format":""') },
  {
    name: 'B100 format: json',
    path: '/api/generate',
    body: '{"model":"alpha:8b","prompt":"x","format":"json"}',
  },
  {
    name: 'B100 format: a schema',
    path: '/api/chat',
    body: chat(
      '"format":{"type":"object","properties":{"ä":{"type":"integer","minimum":1.0}},"required":["ä"]}',
    ),
  },
  {
    name: 'B100 response_format',
    path: '/v1/chat/completions',
    body: chat(
      '"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}}',
    ),
  },
  {
    name: 'B100 text.format of Responses',
    path: '/v1/responses',
    body: '{"model":"alpha:8b","input":"x","text":{"format":{"type":"json_object"}}}',
  },
  {
    name: 'B102 base64 embeddings',
    path: '/v1/embeddings',
    body: '{"input":["a","b"],"model":"embed-x","encoding_format":"base64"}',
  },
  {
    name: 'B102 float embeddings',
    path: '/v1/embeddings',
    body: '{"input":"a","model":"embed-x","encoding_format":"float","dimensions":4}',
  },
  {
    name: 'B076 a broken tool call in the history',
    path: '/v1/chat/completions',
    body: BROKEN_CALLS,
  },
  {
    name: 'spelling, blanks and escapes',
    path: '/api/chat',
    body: '{ "messages" : [ {"role":"user","content":"\\u00e4\\/x"} ],\n\t"model":"Alpha:8B" }',
  },
  {
    name: 'duplicate keys',
    path: '/api/chat',
    body: '{"model":"beta:4b","model":"alpha:8b","messages":[],"stream":true,"stream":false}',
  },
]

// B076, B079, B100, B102: a gateway that reads a body and writes it anew loses what it does not
// know and changes what it does.
suite('a body reaches the worker as it was written', { concurrency: true }, () => {
  for (const { name, path, body } of SENT) {
    test(name, async () => {
      await using rig = await startRig({ workers: [{ models: [ALPHA, 'embed-x'] }] })
      await rig.sims[0]?.faults.add({ kind: 'echo', path })
      const answer = await fetch(rig.url + path, { method: 'POST', body })
      await answer.text()
      const [seen] = rig.sims[0]?.record.requests({ path }) ?? []
      assert.equal(seen?.body.toString(), body)
      assert.equal(seen.framing, 'content-length')
    })
  }
})

/** What workers answer that a translating gateway would get wrong. */
const ANSWERS: readonly { name: string; path: string; type: string; chunks: string[] }[] = [
  {
    name: 'B076 two tool calls that both have index 0',
    path: '/v1/chat/completions',
    type: 'text/event-stream',
    chunks: [
      'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}\n\n',
      'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]}}]}\n\n',
      'data: [DONE]\n\n',
    ],
  },
  {
    name: 'B079 thinking, reasoning and unknown fields in answers',
    path: '/api/chat',
    type: 'application/x-ndjson',
    chunks: [
      '{"model":"alpha:8b","message":{"role":"assistant","content":"","thinking":"hm","reasoning_content":"h"},"x_new":1.0,"done":false}\n',
      '{"model":"alpha:8b","message":{"role":"assistant","content":"a"},"done":true,"prompt_eval_count":1,"eval_count":1}\n',
    ],
  },
  {
    name: 'B078 a tool call as the first block',
    path: '/v1/messages',
    type: 'text/event-stream',
    chunks: [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":0,"output_tokens":0}}}\n\n',
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}\n\n',
      'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}\n\n',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ],
  },
  {
    name: 'B102 a vector in base64',
    path: '/v1/embeddings',
    type: 'application/json',
    chunks: [
      '{"object":"list","data":[{"object":"embedding","embedding":"AACAPwAAAEA=","index":0}],"model":"embed-x","usage":{"prompt_tokens":1,"total_tokens":1}}\n',
    ],
  },
  {
    name: 'B102 floats although base64 was asked for',
    path: '/v1/embeddings',
    type: 'application/json',
    chunks: [
      '{"object":"list","data":[{"object":"embedding","embedding":[1.0,2.50],"index":0}],"model":"embed-x","usage":{"prompt_tokens":1,"total_tokens":1}}',
    ],
  },
]

suite('an answer comes back as the worker gave it', { concurrency: true }, () => {
  for (const { name, path, type, chunks } of ANSWERS) {
    test(name, async () => {
      await using rig = await startRig({ workers: [{ models: ['alpha:8b', 'embed-x'] }] })
      await rig.sims[0]?.faults.add({
        kind: 'script',
        headers: { 'content-type': type },
        chunks,
        path,
      })
      const embeds = path.includes('embed')
      const body = embeds
        ? { model: 'embed-x', input: 'a', encoding_format: 'base64' }
        : {
            model: 'alpha:8b',
            messages: [{ role: 'user', content: 'x' }],
            max_tokens: 9,
            stream: true,
          }
      const answer = await rig.post(path, body)
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-type'), type)
      assert.equal(await answer.text(), chunks.join(''))
    })
  }
})

// B078: Claude Code aborts where a block comes before its message, or where starts and stops do
// not balance. A tool call first, thinking first, and nothing at all, as a real worker streams them.
test('events of an Anthropic stream come in the order that its clients check', async () => {
  await using rig = await startRig({ workers: [{ models: ['qwen3:8b'] }] })
  const words = [
    { toolCalls: [{ name: 'f', arguments: { a: 1 } }], content: [] },
    { thinking: ['hm'], content: ['a'] },
    { content: [] },
  ]
  for (const answer of words) {
    await rig.sims[0]?.faults.add({ kind: 'answer', ...answer, times: 1 })
    const tools = [{ name: 'f', input_schema: { type: 'object', properties: {} } }]
    const thinking =
      'thinking' in answer ? { thinking: { type: 'enabled', budget_tokens: 1024 } } : {}
    const body = {
      model: 'qwen3:8b',
      messages: [{ role: 'user', content: 'x' }],
      max_tokens: 64,
      stream: true,
      tools,
      ...thinking,
    }
    const text = await (await rig.post('/v1/messages', body)).text()
    const events = [...text.matchAll(/^data: (.*)$/gm)].map(
      ([, data]) => JSON.parse(data ?? '') as { type: string; index?: number },
    )
    assert.equal(events[0]?.type, 'message_start')
    assert.deepEqual(
      events.slice(-2).map(({ type }) => type),
      ['message_delta', 'message_stop'],
    )
    const open = new Set<number>()
    for (const { type, index = -1 } of events) {
      if (type === 'content_block_start') open.add(index)
      if (type === 'content_block_delta') assert.ok(open.has(index))
      if (type === 'content_block_stop') assert.ok(open.delete(index))
    }
    assert.equal(open.size, 0)
  }
})
