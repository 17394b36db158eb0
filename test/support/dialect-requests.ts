// One request in each dialect, and how a client of it reads an answer: what a test says of every
// dialect it says with this table.

import assert from 'node:assert/strict'

export interface DialectRequest {
  path: string
  /** Without model and stream. */
  body: Readonly<Record<string, unknown>>
  /** False where the route never streams. */
  streams: boolean
  /** The message of an error body in the shape that clients of the dialect read. */
  messageOf(body: unknown): string
  /** Whether a streamed answer tells its client that it failed. */
  tellsFailure(text: string): boolean
  /** Whether a streamed answer says of itself that it is whole. */
  saysWhole(text: string): boolean
}

const messages = [{ role: 'user', content: 'hi' }]

const native = {
  streams: true,
  messageOf: nativeMessage,
  tellsFailure: (text: string) => lastLine(text).startsWith('{"error":'),
  saysWhole: (text: string) => /"done":true/.test(lastLine(text)),
}

const openai = {
  streams: true,
  messageOf: openaiMessage,
  tellsFailure: (text: string) => /\ndata: \{"error":[^\n]*\n\n$/.test(`\n${text}`),
  saysWhole: (text: string) => text.endsWith('data: [DONE]\n\n'),
}

export const DIALECT_REQUESTS: readonly DialectRequest[] = [
  { path: '/api/chat', body: { messages }, ...native },
  { path: '/api/generate', body: { prompt: 'hi' }, ...native },
  { path: '/api/embed', body: { input: ['a', 'b'] }, ...native, streams: false },
  { path: '/v1/chat/completions', body: { messages }, ...openai },
  { path: '/v1/completions', body: { prompt: 'hi' }, ...openai },
  { path: '/v1/embeddings', body: { input: 'a' }, ...openai, streams: false },
  {
    path: '/v1/responses',
    body: { input: 'hi' },
    streams: true,
    messageOf: openaiMessage,
    tellsFailure: (text) => /event: response\.failed\ndata: [^\n]*\n\n$/.test(text),
    saysWhole: (text) => /"type":"response\.completed"/.test(text),
  },
  {
    path: '/v1/messages',
    body: { messages, max_tokens: 64 },
    streams: true,
    messageOf: anthropicMessage,
    tellsFailure: (text) => /event: error\ndata: [^\n]*\n\n$/.test(text),
    saysWhole: (text) => /event: message_stop\n/.test(text),
  },
]

/** Those whose answers can be streams. */
export const STREAM_REQUESTS = DIALECT_REQUESTS.filter(({ streams }) => streams)

export const modelFor = ({ path }: DialectRequest, chat: string, embedding: string): string =>
  path.includes('embed') ? embedding : chat

function nativeMessage(body: unknown): string {
  const { error } = body as { error: unknown }
  assert.equal(typeof error, 'string')
  return error as string
}

function openaiMessage(body: unknown): string {
  const { error } = body as { error: Record<string, unknown> }
  assert.deepEqual(Object.keys(error).toSorted(), ['code', 'message', 'param', 'type'])
  return error['message'] as string
}

function anthropicMessage(body: unknown): string {
  const { type, error } = body as { type: string; error: Record<string, unknown> }
  assert.equal(type, 'error')
  assert.equal(typeof error['type'], 'string')
  return error['message'] as string
}

const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? ''
