import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keepAliveNs } from '../../../src/gateway/dialects/keep-alive.ts'
import { governKeepAlive } from '../../../src/gateway/policy/keep-alive.ts'

const MINUTE = 60_000

// What the client sent, the operator's rules, what the worker gets; undefined = the client's own.
const cases: [
  sent: unknown,
  max: number | null,
  override: number | null,
  gets: string | undefined,
][] = [
  ['5m', null, null, undefined],
  [-1, null, null, undefined],
  ['24h', 10 * MINUTE, null, '"600000ms"'],
  [86_400, 10 * MINUTE, null, '"600000ms"'],
  [-1, 10 * MINUTE, null, '"600000ms"'],
  ['-1s', 10 * MINUTE, null, '"600000ms"'],
  ['10m', 10 * MINUTE, null, undefined],
  ['5m', 10 * MINUTE, null, undefined],
  // Unloading is what max asks for, and more.
  [0, 10 * MINUTE, null, undefined],
  ['0', 10 * MINUTE, null, undefined],
  // No maximum at all.
  [-1, -1, null, undefined],
  // What Ollama does not understand either is its own to refuse.
  ['soon', 10 * MINUTE, null, undefined],
  [{}, 10 * MINUTE, null, undefined],
  ['5m', null, MINUTE, '"60000ms"'],
  [-1, 10 * MINUTE, 30 * MINUTE, '"1800000ms"'],
  ['5m', null, -1, '-1'],
]

for (const [sent, max, override, gets] of cases) {
  test(`keep_alive ${JSON.stringify(sent)}, max ${max}, override ${override}`, () => {
    assert.equal(governKeepAlive({ max, override }, keepAliveNs(sent)), gets)
  })
}
