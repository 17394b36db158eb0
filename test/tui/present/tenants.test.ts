import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  aclText,
  limitText,
  originOf,
  spentOf,
  usedOfLimit,
  USED_CELLS,
  weightText,
} from '../../../src/tui/present/tenants.ts'
import { width } from '../../../src/tui/present/text.ts'
import { tokens } from '../../../src/tui/present/units.ts'
import { tenantLine } from '../../support/tenant-fixture.ts'

const account = (used: number, left: number | null, granted = 0) => ({
  used,
  left,
  granted,
  reserved: 0,
  resets_at: '2026-05-02T00:00:00.000Z',
})

test('0 is no limit, 90 % is near the end, nothing left is spent', () => {
  const table: [ReturnType<typeof account>, number, string][] = [
    [account(5, null), 0, 'unlimited'],
    [account(0, 100), 100, 'fine'],
    [account(89, 11), 100, 'fine'],
    [account(90, 10), 100, 'near'],
    [account(100, 0), 100, 'spent'],
    // What running requests hold may still be given back, but nobody else gets it.
    [account(10, 0), 100, 'spent'],
    // A grant counts for this window.
    [account(100, 100, 100), 100, 'fine'],
  ]
  for (const [of, limit, state] of table) assert.equal(spentOf(of, limit).state, state)
})

test('used and limit in one cell, always of the same width', () => {
  const look = { ascii: false, wide: true }
  const texts: [string, string][] = [
    [usedOfLimit(account(6_200_000, 3_800_000), 10_000_000, look), ' 6.2M / 10M    62%  '],
    [usedOfLimit(account(9_700_000, 300_000), 10_000_000, look), ' 9.7M / 10M    97% !'],
    [usedOfLimit(account(200_000, 0), 200_000, look), ' 200k / 200k  100% ✗'],
    [usedOfLimit(account(31_400_000, null), 0, look), '31.4M / ∞           '],
    // 99.6 % is not all of it.
    [usedOfLimit(account(996, 4), 1_000, look), '  996 / 1k     99% !'],
  ]
  for (const [text, expected] of texts) assert.equal(text, expected)
  for (const value of [0, 7, 999, 1_000, 999_499, 999_999, 1e9, 9.99e14, 1e15]) {
    assert.ok(width(tokens(value)) <= 5, tokens(value))
    for (const ascii of [true, false]) {
      for (const wide of [true, false]) {
        const text = usedOfLimit(account(value, 0), value, { ascii, wide })
        assert.equal(width(text), wide ? USED_CELLS.wide : USED_CELLS.narrow, text)
      }
    }
  }
})

test('no limit is a sign, and three letters where there are no signs', () => {
  assert.deepEqual(
    [limitText(0, false), limitText(0, true), limitText(1_000, true)],
    ['∞', 'inf', '1k'],
  )
})

test('weights fit their column', () => {
  const weights = [1, 0.25, 2.5, 12, 1_000, 99_999, 123_456.7, 0.000_012_3]
  assert.deepEqual(weights.map(weightText), [
    '1',
    '0.25',
    '2.5',
    '12',
    '1000',
    '1e+5',
    '1e+5',
    '1e-5',
  ])
})

test('lists of models, and where settings come from', () => {
  const models = { allowed: ['*'], denied: ['a:*'], more: 3 }
  assert.equal(aclText(models), '*, not a:* +3')
  assert.equal(aclText({ allowed: ['a\u001b[2J'], denied: [], more: 0 }), 'a\\u001b[2J')
  const origins = [
    tenantLine('a'),
    tenantLine('default', { in_config: false }),
    tenantLine('b', { in_config: false, set_at_run_time: ['credits'] }),
  ]
  assert.deepEqual(origins.map(originOf), ['from the config', 'always there', 'made at run time'])
})
