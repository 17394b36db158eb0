// What each dialect reads out of a request body: one row a shape that real clients send.

import assert from 'node:assert/strict'
import test from 'node:test'

import type { RequestFacts } from '../../../src/gateway/dialects/dialect.ts'
import { dialectFor } from '../../../src/gateway/dialects/dialects.ts'
import { emptyBody } from '../../../src/gateway/dialects/request-model.ts'
import { GatewayError } from '../../../src/gateway/errors.ts'
import { parseBody } from '../../../src/gateway/proxy/parse-body.ts'

const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } }
const USER = { role: 'user', content: 'hello' }
const PNG = 'iVBORw0KGgo='

function read(path: string, body: unknown): RequestFacts {
  const dialect = dialectFor(path)
  assert.ok(dialect, `${path} is an inference route`)
  return parseBody(Buffer.from(JSON.stringify(body)), dialect, path).facts
}

type Row = [path: string, body: Record<string, unknown>, facts: Partial<RequestFacts>]

const ROWS: Record<string, Row[]> = {
  'streams have the default of their dialect; null is absent': [
    ['/api/chat', { messages: [USER] }, { stream: true, usageInStream: true }],
    ['/api/chat', { messages: [USER], stream: null }, { stream: true }],
    ['/api/chat', { messages: [USER], stream: false }, { stream: false }],
    ['/api/generate', { prompt: 'x' }, { stream: true }],
    ['/api/embed', { input: 'x', stream: true }, { stream: false }],
    ['/v1/chat/completions', { messages: [USER] }, { stream: false, usageInStream: false }],
    ['/v1/chat/completions', { messages: [USER], stream: null }, { stream: false }],
    ['/v1/completions', { prompt: 'x', stream: true }, { stream: true, usageInStream: false }],
    ['/v1/responses', { input: 'x', stream: true }, { stream: true, usageInStream: true }],
    ['/v1/messages', { messages: [USER], stream: true }, { stream: true, usageInStream: true }],
    ['/v1/embeddings', { input: 'x', stream: true }, { stream: false }],
  ],
  'usage is in a stream where the client asked for it': [
    ['/v1/chat/completions', { stream_options: { include_usage: true } }, { usageInStream: true }],
    ['/v1/chat/completions', { stream_options: null }, { usageInStream: false }],
    ['/v1/completions', { stream_options: { include_usage: true } }, { usageInStream: true }],
  ],
  'empty is not a need': [
    [
      '/api/generate',
      { prompt: 'hi', suffix: '', system: '', template: '', images: [], options: {} },
      { needs: ['completion'], promptChars: 2 },
    ],
    [
      '/api/chat',
      { messages: [{ ...USER, images: [] }], tools: [], options: { num_ctx: null }, think: null },
      { needs: ['completion'], numCtx: undefined, promptChars: 5 },
    ],
    ['/v1/chat/completions', { messages: [USER], tools: [] }, { needs: ['completion'] }],
    ['/v1/completions', { prompt: 'x', suffix: '' }, { needs: ['completion'] }],
    ['/v1/responses', { input: 'x', tools: [], reasoning: null }, { needs: ['completion'] }],
    ['/v1/messages', { messages: [USER], tools: [] }, { needs: ['completion'], softNeeds: [] }],
  ],
  tools: [
    ['/api/chat', { messages: [USER], tools: [TOOL] }, { needs: ['completion', 'tools'] }],
    ['/v1/chat/completions', { tools: [TOOL] }, { needs: ['completion', 'tools'] }],
    ['/v1/responses', { input: 'x', tools: [TOOL] }, { needs: ['completion', 'tools'] }],
    ['/v1/messages', { tools: [{ name: 'f' }] }, { needs: ['completion', 'tools'] }],
  ],
  insert: [
    [
      '/api/generate',
      { prompt: 'a', suffix: 'bc' },
      { needs: ['completion', 'insert'], promptChars: 3 },
    ],
    ['/v1/completions', { prompt: 'a', suffix: 'b' }, { needs: ['completion', 'insert'] }],
  ],
  'images are counted as images, never as characters': [
    [
      '/api/generate',
      { prompt: 'see', images: [PNG, PNG] },
      { needs: ['completion', 'vision'], images: 2, promptChars: 3 },
    ],
    [
      '/api/chat',
      { messages: [{ role: 'user', content: 'see', images: [PNG] }] },
      { needs: ['completion', 'vision'], images: 1, promptChars: 3 },
    ],
    [
      '/v1/chat/completions',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'see' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
            ],
          },
        ],
      },
      { needs: ['completion', 'vision'], images: 1, promptChars: 3 },
    ],
    [
      '/v1/responses',
      {
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'see' },
              { type: 'input_image', image_url: `data:image/png;base64,${PNG}` },
            ],
          },
        ],
      },
      { needs: ['completion', 'vision'], images: 1, promptChars: 3 },
    ],
    [
      '/v1/responses',
      {
        input: [
          {
            type: 'function_call_output',
            call_id: 'c',
            output: [{ type: 'input_image', image_url: PNG }],
          },
        ],
      },
      { needs: ['completion', 'vision'], images: 1 },
    ],
    [
      '/v1/responses',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f' }] }] },
      { images: 0, needs: ['completion'] },
    ],
    [
      '/v1/messages',
      {
        messages: [
          { role: 'user', content: [{ type: 'image', source: { type: 'base64', data: PNG } }] },
        ],
      },
      { needs: ['completion', 'vision'], images: 1, promptChars: 0 },
    ],
    [
      '/v1/messages',
      {
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 't',
                content: [
                  { type: 'image', source: { data: PNG } },
                  { type: 'text', text: 'ok' },
                ],
              },
            ],
          },
        ],
      },
      { needs: ['completion', 'vision'], images: 1, promptChars: 2 },
    ],
  ],
  audio: [
    [
      '/v1/chat/completions',
      {
        messages: [
          { role: 'user', content: [{ type: 'input_audio', input_audio: { data: PNG } }] },
        ],
      },
      { needs: ['completion', 'audio'], promptChars: 0 },
    ],
    [
      '/v1/audio/transcriptions',
      { prompt: 'names', stream: 'true' },
      { needs: ['completion', 'audio'], stream: false, promptChars: 5 },
    ],
  ],
  'thinking is a need where Ollama refuses it, soft where it is dropped': [
    ['/api/chat', { messages: [USER], think: true }, { needs: ['completion', 'thinking'] }],
    ['/api/chat', { messages: [USER], think: 'high' }, { needs: ['completion', 'thinking'] }],
    ['/api/chat', { messages: [USER], think: false }, { needs: ['completion'] }],
    ['/api/generate', { prompt: 'x', think: 'low' }, { needs: ['completion', 'thinking'] }],
    ['/v1/chat/completions', { reasoning_effort: 'high' }, { needs: ['completion', 'thinking'] }],
    [
      '/v1/chat/completions',
      { reasoning: { effort: 'low' } },
      { needs: ['completion', 'thinking'] },
    ],
    ['/v1/chat/completions', { reasoning_effort: 'none' }, { needs: ['completion'] }],
    [
      '/v1/responses',
      { input: 'x', reasoning: { effort: 'medium' } },
      { needs: ['completion', 'thinking'] },
    ],
    ['/v1/responses', { input: 'x', reasoning: { effort: 'none' } }, { needs: ['completion'] }],
    [
      '/v1/messages',
      { thinking: { type: 'enabled', budget_tokens: 1024 } },
      { needs: ['completion'], softNeeds: ['thinking'] },
    ],
    ['/v1/messages', { output_config: { effort: 'high' } }, { softNeeds: ['thinking'] }],
    [
      '/v1/messages',
      { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
      { softNeeds: [] },
    ],
    ['/v1/messages', { thinking: { type: 'adaptive' } }, { softNeeds: [] }],
  ],
  'no work is a load, with keep_alive 0 in any spelling an unload, which needs nothing': [
    ['/api/generate', {}, { kind: 'load', needs: ['completion'] }],
    ['/api/generate', { prompt: '', keep_alive: '5m' }, { kind: 'load', keepAlive: '5m' }],
    ['/api/generate', { prompt: '', keep_alive: null }, { kind: 'load', keepAlive: undefined }],
    ['/api/generate', { prompt: '', images: [PNG] }, { kind: 'load' }],
    ['/api/chat', {}, { kind: 'load' }],
    ['/api/chat', { messages: [], keep_alive: -1 }, { kind: 'load' }],
    ...[0, '0', '0s', '0m', '0h0m', '-0', 1e-12].flatMap((zero): Row[] => [
      [
        '/api/generate',
        { prompt: '', keep_alive: zero },
        { kind: 'unload', needs: [], keepAlive: zero },
      ],
      [
        '/api/chat',
        { messages: [], tools: [TOOL], keep_alive: zero },
        { kind: 'unload', needs: [] },
      ],
      ['/api/chat', { messages: [USER], keep_alive: zero }, { kind: 'inference' }],
    ]),
    ['/api/embed', {}, { kind: 'load', needs: ['embedding'] }],
    ['/api/embed', { input: '' }, { kind: 'load' }],
    ['/api/embed', { input: [], keep_alive: 0 }, { kind: 'load' }],
    ['/api/embeddings', { prompt: '' }, { kind: 'load' }],
    ['/api/embeddings', { prompt: 'hello' }, { kind: 'inference', promptChars: 5 }],
    ['/v1/completions', { prompt: '' }, { kind: 'load' }],
    ['/v1/chat/completions', {}, { kind: 'inference' }],
    ['/v1/embeddings', { input: '' }, { kind: 'inference', needs: ['embedding'] }],
  ],
  'options are native only': [
    [
      '/api/chat',
      { options: { num_ctx: 8192, num_predict: 40 } },
      { numCtx: 8192, outputTokens: 40 },
    ],
    [
      '/api/chat',
      { options: { num_ctx: '8192', num_predict: -1 } },
      { numCtx: '8192', outputTokens: undefined },
    ],
    ['/api/chat', { options: null }, { numCtx: undefined, outputTokens: undefined }],
    [
      '/v1/chat/completions',
      { options: { num_ctx: 512 }, keep_alive: 0 },
      { numCtx: undefined, keepAlive: undefined },
    ],
  ],
  'output tokens': [
    ['/v1/chat/completions', { max_tokens: 7, max_completion_tokens: 9 }, { outputTokens: 7 }],
    ['/v1/chat/completions', { max_tokens: null, max_completion_tokens: 9 }, { outputTokens: 9 }],
    ['/v1/completions', { max_tokens: 3.9 }, { outputTokens: 3 }],
    ['/v1/responses', { input: 'x', max_output_tokens: 5 }, { outputTokens: 5 }],
    ['/v1/messages', { max_tokens: 32000 }, { outputTokens: 32000 }],
    ['/v1/messages', { max_tokens: '5' }, { outputTokens: undefined }],
  ],
  'everything that becomes prompt tokens has a weight': [
    [
      '/api/chat',
      {
        messages: [
          { role: 'system', content: 'abc' },
          { role: 'assistant', content: 'de', thinking: 'fgh' },
        ],
      },
      { promptChars: 8 },
    ],
    [
      '/api/chat',
      {
        messages: [
          {
            role: 'assistant',
            content: '',
            tool_calls: [{ function: { name: 'ls', arguments: { d: 1 } } }],
          },
        ],
      },
      { promptChars: 2 + 8 },
    ],
    [
      '/v1/chat/completions',
      {
        messages: [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ function: { name: 'ls', arguments: '{"a":1}{"b":2}' } }],
          },
        ],
      },
      { promptChars: 2 + 14 },
    ],
    [
      '/api/generate',
      { prompt: 'ab', system: 'cd', template: 'ef', context: [1, 2, 3] },
      { promptChars: 6 + 12 },
    ],
    [
      '/v1/responses',
      {
        instructions: 'abc',
        input: [
          { type: 'function_call', name: 'ls', arguments: '{}' },
          { type: 'function_call_output', output: 'out' },
        ],
      },
      { promptChars: 3 + 4 + 3 },
    ],
    [
      '/v1/messages',
      {
        system: [{ type: 'text', text: 'be kind', cache_control: {} }],
        messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }],
      },
      { promptChars: 9 },
    ],
    [
      '/v1/messages',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'tool_use', name: 'ls', input: {} },
              { type: 'thinking', thinking: 'hm' },
            ],
          },
        ],
      },
      { promptChars: 2 + 2 + 2 },
    ],
  ],
  'each item of a batch of embeddings has a context of its own': [
    ['/api/embed', { input: ['hello', 'there you'] }, { promptChars: 14, contextChars: 9 }],
    ['/v1/embeddings', { input: ['a', 'bcd'] }, { promptChars: 4, contextChars: 3 }],
    ['/v1/embeddings', { input: [1, 2, 3] }, { kind: 'inference' }],
  ],
  'keys match without regard to case, as in Go': [
    [
      '/api/chat',
      {
        Messages: [{ Role: 'user', Content: 'hello', Images: [PNG] }],
        STREAM: false,
        toolſ: [TOOL],
      },
      { stream: false, images: 1, needs: ['completion', 'vision', 'tools'] },
    ],
    ['/api/generate', { Prompt: '', Keep_Alive: 0 }, { kind: 'unload' }],
  ],
  'who asks': [
    ['/v1/chat/completions', { user: 'ada' }, { user: 'ada' }],
    ['/v1/messages', { metadata: { user_id: 'user_1_session_2' } }, { user: 'user_1_session_2' }],
    ['/v1/responses', { input: 'x', prompt_cache_key: 'c-1' }, { user: 'c-1' }],
    [
      '/v1/responses',
      { input: 'x', user: ' ', metadata: null, prompt_cache_key: 7 },
      { user: undefined },
    ],
    ['/v1/chat/completions', { user: 'x'.repeat(300) }, { user: 'x'.repeat(256) }],
  ],
  "Open WebUI's background work": [
    [
      '/api/chat',
      { messages: [{ role: 'user', content: '### Task:\nGenerate a title' }] },
      { background: true },
    ],
    [
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: '### Task:\nTags' }] },
      { background: true },
    ],
    [
      '/api/chat',
      { messages: [USER, { role: 'user', content: '### Task:' }] },
      { background: false },
    ],
  ],
}

for (const [name, rows] of Object.entries(ROWS)) {
  test(name, () => {
    for (const [path, body, expected] of rows) {
      const facts = read(path, { model: 'm', ...body })
      const actual = Object.fromEntries(
        Object.keys(expected).map((key) => [key, facts[key as keyof RequestFacts]]),
      )
      assert.deepEqual(
        { ...actual, needs: new Set(facts.needs) },
        { ...expected, needs: new Set(expected.needs ?? facts.needs) },
        `${path} ${JSON.stringify(body)}`,
      )
    }
  })
}

test('the model is kept as the client spelled it', () => {
  assert.equal(read('/api/chat', { MODEL: ' Library/QWEN3:8B ' }).model, ' Library/QWEN3:8B ')
})

// The gateway answers these itself, because it cannot go on without a model: the words and the
// status are those of a real Ollama.
test('a missing model is told in the words of each route', () => {
  const rows: [path: string, body: unknown, status: number, message: string][] = [
    ['/api/chat', {}, 400, 'model is required'],
    ['/api/chat', null, 400, 'model is required'],
    ['/api/chat', { model: null }, 400, 'model is required'],
    ['/api/chat', { model: ' ' }, 400, 'model is required'],
    ['/api/embeddings', {}, 400, 'model is required'],
    ['/v1/chat/completions', {}, 400, 'model is required'],
    ['/v1/responses', {}, 400, 'model is required'],
    ['/v1/messages', {}, 400, 'model is required'],
    ['/v1/audio/transcriptions', {}, 400, 'model is required'],
    ['/api/generate', {}, 404, "model '' not found"],
    ['/api/embed', { model: '' }, 404, "model '' not found"],
    ['/v1/completions', {}, 404, "model '' not found"],
    ['/v1/embeddings', {}, 404, "model '' not found"],
    [
      '/api/chat',
      { model: 5 },
      400,
      'json: cannot unmarshal number into Go struct field ChatRequest.model of type string',
    ],
    [
      '/v1/messages',
      { model: [] },
      400,
      'json: cannot unmarshal array into Go struct field MessagesRequest.model of type string',
    ],
    ['/api/chat', [], 400, 'json: cannot unmarshal array into Go value of type api.ChatRequest'],
    [
      '/v1/responses',
      'x',
      400,
      'json: cannot unmarshal string into Go value of type openai.ResponsesRequest',
    ],
    [
      '/api/generate',
      true,
      400,
      'json: cannot unmarshal bool into Go value of type api.GenerateRequest',
    ],
  ]
  for (const [path, body, status, message] of rows) {
    assert.throws(
      () => read(path, body),
      (error) => {
        assert.ok(error instanceof GatewayError)
        assert.deepEqual(
          { status: error.status, message: error.message },
          { status, message },
          `${path} ${JSON.stringify(body)}`,
        )
        return true
      },
    )
  }
  assert.equal(emptyBody('/api/chat').message, 'missing request body')
  assert.equal(emptyBody('/v1/messages').message, 'EOF')
})

// What is malformed beyond the model is worded by the worker, so nothing here may throw.
test('malformed bodies are read without a fault', () => {
  const nonsense = [
    0,
    'x',
    true,
    [],
    {},
    [null],
    [[]],
    [{}],
    { type: 5 },
    [{ type: 'tool_result', content: 5 }],
    [{ function: null }],
  ]
  const keys = [
    'messages',
    'prompt',
    'input',
    'tools',
    'options',
    'think',
    'system',
    'suffix',
    'images',
    'metadata',
    'stream_options',
    'reasoning',
    'thinking',
    'keep_alive',
    'user',
    'instructions',
    'context',
  ]
  const paths = [
    '/api/generate',
    '/api/chat',
    '/api/embed',
    '/api/embeddings',
    '/v1/chat/completions',
    '/v1/completions',
    '/v1/embeddings',
    '/v1/responses',
    '/v1/messages',
    '/v1/audio/transcriptions',
  ]
  for (const path of paths) {
    for (const key of keys) {
      for (const value of nonsense) {
        const facts = read(path, { model: 'm', [key]: value })
        assert.ok(Number.isSafeInteger(facts.promptChars) && facts.promptChars >= 0)
        read(path, {
          model: 'm',
          messages: [{ role: 'user', content: value, tool_calls: value, images: value }],
        })
      }
    }
  }
})

// JSON.stringify would overflow the stack on this, which would look like a bug of the gateway.
test('a body of nothing but brackets is weighed', () => {
  const deep: unknown = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000))
  assert.ok(
    read('/api/chat', { model: 'm', messages: [USER], tools: [deep] }).promptChars > 200_000,
  )
})

test('a conversation is known again in its later turns, and told apart from others', () => {
  const long = 'The same ten pages of instructions. '.repeat(2000)
  const turns = (first: string, count: number) =>
    Array.from({ length: count }, (_, turn) => [
      { role: 'user', content: turn === 0 ? first : `more ${turn}` },
      { role: 'assistant', content: `answer ${turn}` },
    ]).flat()
  const systemMessage = { role: 'system', content: long }
  const shapes: [string, (first: string, count: number) => Record<string, unknown>][] = [
    ['/api/chat', (first, count) => ({ messages: [systemMessage, ...turns(first, count)] })],
    [
      '/v1/chat/completions',
      (first, count) => ({
        messages: [{ role: 'developer', content: long }, ...turns(first, count)],
      }),
    ],
    [
      '/v1/messages',
      (first, count) => ({ system: [{ type: 'text', text: long }], messages: turns(first, count) }),
    ],
    ['/v1/responses', (first, count) => ({ instructions: long, input: turns(first, count) })],
  ]
  for (const [path, body] of shapes) {
    const of = (first: string, count: number): string =>
      read(path, { model: 'm', ...body(first, count) }).conversation
    assert.equal(of('hello', 1), of('hello', 5), path)
    assert.equal(of(`${long}one`, 1), of(`${long}one`, 2), path)
    assert.notEqual(of('hello', 1), of('goodbye', 1), path)
    assert.notEqual(of(`${long}one`, 1), of(`${long}two`, 1), path)
    assert.ok(Buffer.byteLength(of('渐'.repeat(50_000), 1)) <= 4096, path)
  }
  assert.equal(read('/api/chat', { model: 'm' }).conversation, '')
  assert.equal(read('/api/embed', { model: 'm', input: 'x' }).conversation, '')
})
