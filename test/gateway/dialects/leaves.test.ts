// The small pure parts: frame borders, durations, the count of tokens.

import assert from 'node:assert/strict'
import test from 'node:test'

import {
  countTokensBody,
  countTokensEstimate,
} from '../../../src/gateway/dialects/anthropic-count.ts'
import { atFrameBoundary, SSE_HEARTBEAT } from '../../../src/gateway/dialects/frames.ts'
import { readJsonTail } from '../../../src/gateway/dialects/json-tail.ts'
import { keepAliveIsZero, keepAliveNs } from '../../../src/gateway/dialects/keep-alive.ts'

// A heartbeat inside a frame that the worker has half sent would break it.
test('frames end with a blank line, whatever ends a line', () => {
  const rows: [bytes: string, boundary: boolean][] = [
    ['', true],
    ['\n', true],
    ['data: x\n\n', true],
    ['data: x\r\n\r\n', true],
    ['data: x\r\r', true],
    ['data: x\n\r\n', true],
    [SSE_HEARTBEAT, true],
    ['data: x\n', false],
    ['data: x\r\n', false],
    ['data: x', false],
    ['event: x\n', false],
  ]
  for (const [bytes, boundary] of rows) {
    assert.equal(atFrameBoundary(Buffer.from(bytes)), boundary, JSON.stringify(bytes))
  }
})

test('keep_alive as Ollama reads it', () => {
  const rows: [value: unknown, ns: number | undefined][] = [
    [0, 0],
    [-0, 0],
    [300, 300e9],
    [0.5, 0.5e9],
    [-1, Number.POSITIVE_INFINITY],
    ['5m', 300e9],
    ['1h30m', 5400e9],
    ['1.5s', 1.5e9],
    ['.5s', 0.5e9],
    ['-1m', Number.POSITIVE_INFINITY],
    ['0', 0],
    ['+0', 0],
    ['-0s', 0],
    ['0h0m0s', 0],
    ['0.0ms', 0],
    ['0µs', 0],
    ['-1', undefined],
    ['5', undefined],
    ['', undefined],
    ['0 s', undefined],
    ['s', undefined],
    ['1'.repeat(5_000_000), undefined],
    ['5mx', undefined],
    ['x5m', undefined],
    [true, undefined],
    [{}, undefined],
    [undefined, undefined],
  ]
  for (const [value, ns] of rows) {
    assert.equal(keepAliveNs(value), ns, JSON.stringify(value)?.slice(0, 40))
    assert.equal(keepAliveIsZero(value), ns === 0)
  }
})

test('tokens are counted as Ollama estimates them', () => {
  assert.deepEqual([0, 1, 4, 5].map(countTokensEstimate), [0, 1, 1, 2])
  assert.equal(countTokensBody({ promptChars: 11, images: 2 }, 1000), '{"input_tokens":2003}')
})

// The scan goes backwards, so quotes and braces inside strings are what could mislead it.
test('the end of an object is read whatever its strings hold', () => {
  const value = { a: '\\"}{[":,', b: [{ c: '\\\\' }, ']'], d: { e: '"', f: 7 }, g: 12, h: 'x\\' }
  const text = JSON.stringify(value)
  for (let start = 1; start < text.indexOf('"g"'); start += 1) {
    const end = readJsonTail(Buffer.from(text.slice(start)))
    if (end === undefined) continue // the fragment begins with a brace that balances: not an end
    assert.deepEqual([end.object['g'], end.object['h']], [12, 'x\\'], text.slice(start))
  }
  assert.deepEqual(readJsonTail(Buffer.from(text)), { whole: true, object: value, inner: {} })
  assert.equal(readJsonTail(Buffer.from(text.slice(8)))?.inner['f'], 7)
  assert.equal(readJsonTail(Buffer.from('{"a":1},{"b":2}')), undefined)
  assert.equal(readJsonTail(Buffer.from('[1]')), undefined)
})
