// One small request for each inference route, and how its client recognises an answer that is
// whole, an error inside a stream, and an error answer.

import assert from 'node:assert/strict'

export interface DialectCase {
  name: string
  path: string
  body(model: string): Record<string, unknown>
  streams: boolean
  /** The end of a stream that is whole. */
  whole: RegExp
  /** The end of a stream that broke, as its client is told. */
  broken: RegExp
  /** Checks a body that is an error of this protocol. */
  isError(body: string): void
}

const messages = [{ role: 'user', content: 'hello there' }]

function nativeError(body: string): void {
  const parsed: unknown = JSON.parse(body)
  assert.ok(typeof parsed === 'object' && parsed !== null && 'error' in parsed)
  assert.equal(typeof parsed.error, 'string')
}

function openaiError(body: string): void {
  const { error } = JSON.parse(body) as { error: { message: unknown; type: unknown } }
  assert.equal(typeof error.message, 'string')
  assert.equal(typeof error.type, 'string')
}

function anthropicError(body: string): void {
  const { type, error } = JSON.parse(body) as { type: unknown; error: { message: unknown } }
  assert.equal(type, 'error')
  assert.equal(typeof error.message, 'string')
}

const native = {
  whole: /"done":true[^\n]*\n$/,
  broken: /\n\{"error":"[^\n]+"\}\n$/,
  isError: nativeError,
  streams: true,
}
const openai = {
  whole: /data: \[DONE\]\n\n$/,
  broken: /data: \{"error":\{.*\}\}\n\n$/,
  isError: openaiError,
  streams: true,
}

export const DIALECT_CASES: readonly DialectCase[] = [
  { ...native, name: 'native chat', path: '/api/chat', body: (model) => ({ model, messages }) },
  {
    ...openai,
    name: 'OpenAI chat',
    path: '/v1/chat/completions',
    body: (model) => ({ model, messages }),
  },
  {
    name: 'Anthropic',
    path: '/v1/messages',
    body: (model) => ({ model, messages, max_tokens: 50 }),
    streams: true,
    whole: /"type":"message_stop"\}\n\n$/,
    broken: /event: error\ndata: \{"type":"error".*\}\n\n$/,
    isError: anthropicError,
  },
  {
    ...openai,
    name: 'Responses',
    path: '/v1/responses',
    body: (model) => ({ model, input: 'hello there' }),
    whole: /event: response\.completed\ndata: .*\n\n$/,
    broken: /event: response\.failed\ndata: .*\n\n$/,
  },
  {
    ...native,
    name: 'native generate',
    path: '/api/generate',
    body: (model) => ({ model, prompt: 'hello there' }),
  },
  {
    ...openai,
    name: 'OpenAI completions',
    path: '/v1/completions',
    body: (model) => ({ model, prompt: 'hello there' }),
  },
]
