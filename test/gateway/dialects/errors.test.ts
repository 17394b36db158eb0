// The wire form of failures: what SDKs and agents act on, byte for byte.

import assert from 'node:assert/strict'
import test from 'node:test'

import { anthropicErrors } from '../../../src/gateway/dialects/anthropic-errors.ts'
import type { ErrorForm } from '../../../src/gateway/dialects/dialect.ts'
import { ollamaErrors } from '../../../src/gateway/dialects/ollama-errors.ts'
import { openaiErrors } from '../../../src/gateway/dialects/openai-errors.ts'
import { responsesErrors } from '../../../src/gateway/dialects/responses-errors.ts'
import { GatewayError, type Fault } from '../../../src/gateway/errors.ts'

const WORKERS = [{ worker: 'node-1', reason: 'why' }]
const ABSENT = new GatewayError({ code: 'model_not_installed', model: 'm', workers: WORKERS })
const LONG = new GatewayError({
  code: 'context_too_long',
  model: 'm',
  tokensNeeded: 9000,
  tokensMax: 4096,
  workers: WORKERS,
})
const CUT = new GatewayError({ code: 'worker_cut', worker: 'node-1', bytesSent: 19 })
const CUT_TEXT = 'worker \\"node-1\\" closed the stream after 19 bytes'

test('bodies', () => {
  const absent = 'model \\"m\\" is not installed on any eligible worker, not found: node-1: why'
  const long = 'prompt is too long: 9000 tokens > 4096 maximum for model \\"m\\": node-1: why'
  const rows: [ErrorForm, GatewayError, string][] = [
    [ollamaErrors, ABSENT, `{"error":"${absent}"}`],
    [
      openaiErrors,
      ABSENT,
      `{"error":{"message":"${absent}","type":"not_found_error","param":null,"code":"model_not_found"}}`,
    ],
    [
      responsesErrors,
      ABSENT,
      `{"error":{"message":"${absent}","type":"not_found_error","param":null,"code":"model_not_found"}}`,
    ],
    [
      anthropicErrors,
      ABSENT,
      `{"type":"error","error":{"type":"not_found_error","message":"${absent}"},"request_id":"req_1"}`,
    ],
    [ollamaErrors, LONG, `{"error":"${long}"}`],
    // Codex raises its own "context window exceeded" on this code, Claude Code compacts on these words.
    [
      openaiErrors,
      LONG,
      `{"error":{"message":"${long}","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}`,
    ],
    [
      anthropicErrors,
      LONG,
      `{"type":"error","error":{"type":"invalid_request_error","message":"${long}"},"request_id":"req_1"}`,
    ],
  ]
  for (const [form, error, expected] of rows) assert.equal(form.body(error, 'req_1'), expected)
  assert.equal(ollamaErrors.contentType, 'application/json; charset=utf-8')
})

test('types and codes by fault', () => {
  const rows: [Fault, openaiType: string, openaiCode: string | null, anthropicType: string][] = [
    [
      { code: 'invalid_request', detail: 'x' },
      'invalid_request_error',
      null,
      'invalid_request_error',
    ],
    [{ code: 'not_found', detail: 'x' }, 'not_found_error', null, 'not_found_error'],
    [
      { code: 'unauthorized', detail: 'x' },
      'authentication_error',
      'invalid_api_key',
      'authentication_error',
    ],
    [{ code: 'forbidden', detail: 'x' }, 'permission_error', 'forbidden', 'permission_error'],
    [
      { code: 'body_too_large', limitBytes: 1 },
      'invalid_request_error',
      'body_too_large',
      'request_too_large',
    ],
    [
      { code: 'unsupported_encoding', encoding: 'gzip' },
      'invalid_request_error',
      'unsupported_encoding',
      'invalid_request_error',
    ],
    [
      { code: 'credits_spent', detail: 'x', retryAfterS: 5 },
      'insufficient_quota',
      'insufficient_quota',
      'rate_limit_error',
    ],
    [
      { code: 'queue_full', model: 'm', waiting: 1, retryAfterS: 1 },
      'server_error',
      'queue_full',
      'overloaded_error',
    ],
    [
      { code: 'attempts_failed', model: 'm', workers: [] },
      'server_error',
      'attempts_failed',
      'api_error',
    ],
    [
      { code: 'attempts_timed_out', model: 'm', workers: [] },
      'server_error',
      'attempts_timed_out',
      'api_error',
    ],
  ]
  for (const [fault, openaiType, openaiCode, anthropicType] of rows) {
    const error = new GatewayError(fault)
    const openai = JSON.parse(openaiErrors.body(error, 'r')).error
    assert.deepEqual([openai.type, openai.code], [openaiType, openaiCode], fault.code)
    assert.equal(JSON.parse(anthropicErrors.body(error, 'r')).error.type, anthropicType, fault.code)
  }
})

test('the last event of a broken stream', () => {
  const openai = `data: {"error":{"message":"${CUT_TEXT}","type":"server_error","param":null,"code":"worker_cut"}}\n\n`
  const anthropic = `event: error\ndata: {"type":"error","error":{"type":"api_error","message":"${CUT_TEXT}"},"request_id":"req_1"}\n\n`
  const native = `{"error":"${CUT_TEXT}"}\n`
  const rows: [ErrorForm, sent: string | undefined, expected: string][] = [
    [ollamaErrors, undefined, native],
    [ollamaErrors, '{"done":false}\n', native],
    [ollamaErrors, '{"done":fa', `\n${native}`],
    [openaiErrors, undefined, openai],
    [openaiErrors, 'data: {}\n\n', openai],
    [openaiErrors, 'data: {}\n', `\n${openai}`],
    [openaiErrors, 'data: {"id', `\n\n${openai}`],
    [anthropicErrors, 'event: x\r\ndata: {}\r\n\r\n', anthropic],
    [anthropicErrors, 'event: x\r\n', `\n${anthropic}`],
  ]
  for (const [form, sent, expected] of rows) {
    const bytes = sent === undefined ? undefined : Buffer.from(sent)
    assert.equal(form.streamTail(CUT, 'req_1', bytes), expected)
  }
})

test('a failed response goes on from the last number that the client has seen', () => {
  const event = (number: number): string =>
    `event: e\ndata: {"response":{"created_at":1755800902,"id":"resp_48213"},"sequence_number":${number},"type":"e"}\n\n`
  const failed = (sent: string | undefined) => {
    const bytes = sent === undefined ? undefined : Buffer.from(sent)
    const tail = responsesErrors.streamTail(CUT, 'abc', bytes)
    const [, name, data] = /^\n*event: (.*)\ndata: (.*)\n\n$/.exec(tail) ?? []
    return { name, data: JSON.parse(data ?? '') }
  }
  const { name, data } = failed(event(6) + event(17))
  assert.equal(name, 'response.failed')
  assert.deepEqual([data.type, data.sequence_number], ['response.failed', 18])
  assert.deepEqual(data.response.error, { code: 'server_error', message: CUT.message })
  assert.deepEqual(
    [data.response.status, data.response.id, data.response.created_at],
    ['failed', 'resp_48213', 1755800902],
  )

  assert.equal(failed(undefined).data.sequence_number, 0)
  assert.equal(failed(undefined).data.response.id, 'resp_abc')
  // The event that was cut off was never numbered for the client.
  assert.equal(failed(`${event(6)}event: e\ndata: {"sequence_number":7`).data.sequence_number, 7)
  const long = responsesErrors.streamTail(LONG, 'abc')
  assert.ok(long.includes('"code":"context_length_exceeded"'))
})
