// Whole answers, broken answers, and the counts in them. The streams in the fixture have the shape
// of a real Ollama 0.33.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import test from 'node:test'

import type { Dialect, Ending, Usage } from '../../../src/gateway/dialects/dialect.ts'
import { dialectFor } from '../../../src/gateway/dialects/dialects.ts'

interface Stream {
  name: string
  path: string
  chunks: string[]
}

const FIXTURE = path.join(import.meta.dirname, '../../../../test/fixtures/dialects/streams.json')
const STREAMS = JSON.parse(readFileSync(FIXTURE, 'utf8')) as Stream[]
const SWALLOWED = 'the worker ended the stream with an error that it did not name'

function dialectOf(route: string): Dialect {
  const dialect = dialectFor(route)
  assert.ok(dialect)
  return dialect
}

function ending(route: string, text: string | Buffer, streamed = true): Ending {
  return dialectOf(route).ending(Buffer.from(text), streamed)
}

function tokens({ promptTokens, outputTokens }: Usage) {
  return [promptTokens, outputTokens]
}

const ENDS: Record<
  string,
  [complete: boolean, error: string | undefined, prompt?: number, output?: number]
> = {
  'native-chat': [true, undefined, 38, 4],
  'native-generate': [true, undefined, 25, 4],
  'native-load': [true, undefined],
  'native-unload': [true, undefined],
  'native-killed': [false, 'an error was encountered while running the model: unexpected EOF'],
  'native-client-left': [false, undefined],
  chat: [true, undefined],
  'chat-usage': [true, undefined, 31, 4],
  'chat-killed': [false, SWALLOWED],
  completions: [true, undefined],
  responses: [true, undefined, 25, 3],
  'responses-thinking': [true, undefined, 32, 3],
  'responses-killed': [false, undefined],
  messages: [true, undefined, 31, 3],
  'messages-thinking': [true, undefined, 38, 4],
  'messages-killed': [false, undefined],
}

test('streams end as a real Ollama ends them', () => {
  for (const stream of STREAMS) {
    const { complete, error, usage } = ending(stream.path, stream.chunks.join(''))
    const [expectedComplete, expectedError, prompt, output] = ENDS[stream.name] ?? []
    assert.deepEqual(
      [complete, error, ...tokens(usage)],
      [expectedComplete, expectedError, prompt, output],
      stream.name,
    )
  }
})

// No position in a stream is special: before the last byte of the terminator nothing is whole.
test('a stream cut anywhere is never whole before its terminator has arrived', () => {
  for (const stream of STREAMS.filter(({ name }) => ENDS[name]?.[0])) {
    const bytes = Buffer.from(stream.chunks.join(''))
    const needed = Buffer.byteLength(bytes.toString().trimEnd())
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const { complete } = dialectOf(stream.path).ending(bytes.subarray(0, cut), true)
      assert.equal(complete, cut >= needed, `${stream.name} cut after ${cut} bytes`)
    }
  }
})

test('line ends may be CRLF', () => {
  for (const stream of STREAMS) {
    const text = stream.chunks.join('')
    assert.deepEqual(
      ending(stream.path, text.replaceAll('\n', '\r\n')),
      ending(stream.path, text),
      stream.name,
    )
  }
})

// The tail that is kept begins anywhere: in a frame, in a string, in the middle of a character.
test('a tail may begin at any byte before the last frame', () => {
  for (const stream of STREAMS.filter(({ path: route }) => route !== '/v1/responses')) {
    const text = stream.chunks.join('').replaceAll('" ', '"渐🚀')
    const bytes = Buffer.from(text)
    const whole = ending(stream.path, bytes)
    const last = lastFrames(text, stream.path)
    for (let start = 0; start <= bytes.length - last; start += 1) {
      assert.deepEqual(
        ending(stream.path, bytes.subarray(start)),
        whole,
        `${stream.name} from ${start}`,
      )
    }
  }
})

/** Bytes of the frames that the ending is read from: the last line, or the last three events. */
function lastFrames(text: string, route: string): number {
  const frames = route.startsWith('/api/')
    ? text.split(/(?<=\n)/).slice(-1)
    : text.split(/(?<=\n\n)/).slice(-3)
  return Buffer.byteLength(frames.join(''))
}

// generate repeats all token ids at its end: megabytes, of which only the last bytes are kept.
test('the counts that follow a line too long to keep are read', () => {
  const context = Array.from({ length: 300_000 }, (_, id) => id).join(',')
  const line = `{"model":"m","created_at":"t","response":"\\"{","done":true,"done_reason":"stop","context":[${context}],"total_duration":9,"load_duration":1,"prompt_eval_count":11,"prompt_eval_duration":2,"eval_count":5,"eval_duration":6}\n`
  const { complete, usage } = ending('/api/generate', Buffer.from(line).subarray(-16_384))
  assert.equal(complete, true)
  assert.deepEqual(usage, {
    promptTokens: 11,
    outputTokens: 5,
    promptNs: 2,
    outputNs: 6,
    loadNs: 1,
  })
  assert.equal(ending('/api/generate', Buffer.from(line).subarray(-16_384, -10)).complete, false)
  assert.equal(ending('/api/generate', Buffer.from(line).subarray(-30_000, -8000)).complete, false)
})

test('a final event of Responses that is too long to keep is read', () => {
  const words = 'say \\"hi\\" {} \\\\'.repeat(5000)
  const event = `event: response.completed\ndata: {"response":{"id":"resp_1","output":[{"content":[{"text":"${words}"}]}],"status":"completed","usage":{"input_tokens":7,"output_tokens":9,"total_tokens":16}},"sequence_number":8,"type":"response.completed"}\n\n`
  const { complete, usage } = ending('/v1/responses', Buffer.from(event).subarray(-16_384))
  assert.deepEqual([complete, ...tokens(usage)], [true, 7, 9])
  assert.equal(ending('/v1/responses', Buffer.from(event).subarray(-16_384, -60)).complete, false)
})

const DELTA =
  'data: {"model":"m","choices":[{"index":0,"delta":{"content":"a \\"error\\": {} data: [DONE]"}}]}\n\n'
const DONE = 'data: [DONE]\n\n'
const withUsage = (usage: string): string => `data: {"model":"m","choices":[],"usage":${usage}}\n\n`

test('of several usages in a stream the last that reports something counts', () => {
  const zero = '{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}'
  const real = '{"prompt_tokens":26,"completion_tokens":9,"total_tokens":35}'
  const rows: [usages: string[], prompt: number | undefined, output: number | undefined][] = [
    [[zero, zero, real], 26, 9],
    [[zero, real, 'null'], 26, 9],
    [[real, zero], 26, 9],
    [['null', 'null'], undefined, undefined],
    [[zero, zero], undefined, undefined],
    [['{"prompt_tokens":0,"completion_tokens":4}'], undefined, 4],
    [['{"prompt_tokens":8,"completion_tokens":0}'], 8, 0],
    [['{"prompt_tokens":"x","completion_tokens":1e999}'], undefined, undefined],
    [[], undefined, undefined],
  ]
  for (const [usages, ...expected] of rows) {
    const text = DELTA + usages.map(withUsage).join('') + DONE
    const { complete, usage } = ending('/v1/chat/completions', text)
    assert.deepEqual([complete, ...tokens(usage)], [true, ...expected], usages.join())
  }
})

test('native counts that are missing stay unknown', () => {
  const rows: [line: string, prompt: number | undefined, output: number | undefined][] = [
    ['{"done":true,"total_duration":5,"eval_count":3}', undefined, 3],
    [
      '{"done":true,"prompt_eval_count":0,"eval_count":3,"prompt_eval_cached_count":31}',
      undefined,
      3,
    ],
    ['{"done":true,"prompt_eval_count":-1,"eval_count":null}', undefined, undefined],
    ['{"done":true}', undefined, undefined],
  ]
  for (const [line, ...expected] of rows) {
    const { complete, usage } = ending('/api/chat', `{"done":false}\n${line}`)
    assert.deepEqual([complete, ...tokens(usage)], [true, ...expected], line)
  }
})

test('an error told inside an answer is an error, whatever follows it', () => {
  const rows: [route: string, text: string, error: string | undefined, told: boolean][] = [
    [
      '/api/chat',
      '{"done":false}\n{"error":"CUDA error: out of memory"}',
      'CUDA error: out of memory',
      true,
    ],
    [
      '/v1/chat/completions',
      `${DELTA}data: {"error":{"message":"out of memory"}}\n\n${DONE}`,
      'out of memory',
      true,
    ],
    ['/v1/chat/completions', `${DELTA}data: {"error":"out of memory"}\n\n`, 'out of memory', true],
    ['/v1/completions', `${DELTA}data: {"error":{"code":5}}\n\n${DONE}`, '{"code":5}', true],
    [
      '/v1/chat/completions',
      `${DELTA}data: {"model":"","choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}\n\n`,
      SWALLOWED,
      false,
    ],
    ['/v1/chat/completions', `${DELTA}data: {"error":null}\n\n`, undefined, false],
    [
      '/v1/messages',
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"gone"}}\n\n',
      'gone',
      true,
    ],
    [
      '/v1/responses',
      'event: response.failed\ndata: {"response":{"error":{"code":"server_error","message":"gone"},"status":"failed"},"sequence_number":4,"type":"response.failed"}\n\n',
      'gone',
      true,
    ],
    [
      '/v1/responses',
      'event: error\ndata: {"type":"error","message":"gone","sequence_number":4}\n\n',
      'gone',
      true,
    ],
  ]
  for (const [route, text, expected, told] of rows) {
    const end = ending(route, text)
    assert.deepEqual([end.complete, end.error, end.told], [false, expected, told], text)
  }
})

test('a whole answer of Responses may have stopped at its bound', () => {
  const event =
    'event: response.incomplete\ndata: {"response":{"status":"incomplete","usage":{"input_tokens":2,"output_tokens":3}},"type":"response.incomplete"}\n\n'
  assert.deepEqual(tokens(ending('/v1/responses', event).usage), [2, 3])
  assert.equal(ending('/v1/responses', event).complete, true)
})

test('the estimate of message_start is no usage', () => {
  const start =
    'event: message_start\ndata: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":3,"output_tokens":0}}}\n\n'
  assert.deepEqual(tokens(ending('/v1/messages', start).usage), [undefined, undefined])
})

const FLOATS = Array.from({ length: 20_000 }, (_, at) => at / 7).join(',')

test('documents are whole when they parse, or by what stands at their end', () => {
  const chat =
    '{"id":"chatcmpl-1","choices":[{"message":{"content":"a \\"}"}}],"usage":{"prompt_tokens":31,"completion_tokens":4}}\n'
  const rows: [route: string, text: string, complete: boolean, prompt?: number, output?: number][] =
    [
      [
        '/api/chat',
        '{"model":"m","message":{"content":"hi"},"done":true,"prompt_eval_count":31,"eval_count":4}',
        true,
        31,
        4,
      ],
      ['/api/chat', '{"model":"m","message":{"content":"hi hi hi"},"done":false}', false],
      [
        '/api/generate',
        '{"model":"m","response":"","done":false,"_debug_info":{"rendered_template":"x"}}',
        true,
      ],
      ['/api/embed', '{"model":"m","embeddings":[]}', true],
      [
        '/api/embed',
        `{"model":"m","embeddings":[[${FLOATS}]],"total_duration":5,"load_duration":1,"prompt_eval_count":8}`,
        true,
        8,
      ],
      ['/api/embeddings', `{"embedding":[${FLOATS}]}`, true],
      ['/api/embeddings', `{"embedding":[${FLOATS}`, false],
      ['/v1/chat/completions', chat, true, 31, 4],
      ['/v1/chat/completions', chat.slice(0, -3), false],
      [
        '/v1/embeddings',
        `{"object":"list","data":[{"embedding":[${FLOATS}],"index":0}],"model":"m","usage":{"prompt_tokens":9,"total_tokens":9}}\n`,
        true,
        9,
      ],
      ['/v1/embeddings', `{"object":"list","data":[{"embedding":[${FLOATS}],"index":0}`, false],
      [
        '/v1/responses',
        `{"id":"resp_1","output":[{"text":"${'x'.repeat(40_000)}"}],"usage":{"input_tokens":2,"output_tokens":3},"metadata":{}}\n`,
        true,
        2,
        3,
      ],
      [
        '/v1/messages',
        '{"type":"message","content":null,"usage":{"input_tokens":38,"output_tokens":2}}\n',
        true,
        38,
        2,
      ],
      ['/v1/audio/transcriptions', '{"text":"hello"}', true],
      ['/v1/audio/transcriptions', 'hello', true],
      ['/v1/audio/transcriptions', '', false],
      ['/v1/chat/completions', '', false],
    ]
  for (const [route, text, ...expected] of rows) {
    const end = ending(route, Buffer.from(text).subarray(-16_384), false)
    const [complete, prompt, output] = expected
    assert.deepEqual(
      [end.complete, ...tokens(end.usage)],
      [complete, prompt, output],
      `${route} ${text.slice(0, 60)}`,
    )
    assert.equal(end.error, undefined)
  }
})
