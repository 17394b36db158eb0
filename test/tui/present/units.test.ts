import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  age,
  bytes,
  count,
  duration,
  percent,
  plural,
  rate,
} from '../../../src/tui/present/units.ts'

test('durations', () => {
  const cases: [number | null | undefined, string][] = [
    [0, '0ms'],
    [850, '850ms'],
    [12_400, '12s'],
    [192_000, '3m12s'],
    [7_500_000, '2h05m'],
    [273_600_000, '3d04h'],
    [-5, '0ms'],
    [Number.NaN, '-'],
    [null, '-'],
    [undefined, '-'],
  ]
  for (const [ms, text] of cases) assert.equal(duration(ms), text)
})

test('ages never run backwards, whatever the clock did', () => {
  assert.equal(age('2026-01-01T00:00:00Z', Date.parse('2026-01-01T00:00:42.900Z')), '42s')
  assert.equal(age('2026-01-01T01:00:00Z', Date.parse('2026-01-01T00:00:00Z')), '0s')
  assert.equal(age('not a date', 0), '-')
  assert.equal(age(undefined, 0), '-')
})

test('bytes, rates, counts and shares', () => {
  assert.deepEqual([0, 999, 1000, 523_000_000, 5_200_000_000, 999_999_999].map(bytes), [
    '0B',
    '999B',
    '1kB',
    '523MB',
    '5.2GB',
    '1GB',
  ])
  assert.deepEqual([46.4, 4.64, 0].map(rate), ['46/s', '4.6/s', '0/s'])
  assert.deepEqual([640, 1234, 22_000, 999_600, 3_400_000].map(count), [
    '640',
    '1.2k',
    '22k',
    '1M',
    '3.4M',
  ])
  assert.deepEqual([0.874, 0.002, 0, null].map(percent), ['87%', '0.2%', '0%', '-'])
  assert.equal(plural(1, 'worker'), '1 worker')
  assert.equal(plural(3, 'entry', 'entries'), '3 entries')
})
