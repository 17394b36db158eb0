import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { KEPT_MS, UsageLog } from '../../../src/gateway/state/usage-log.ts'
import { manualClock } from '../../support/manual-clock.ts'

const folder = (): string => mkdtempSync(path.join(tmpdir(), 'ogw-usage-'))
const used = { tenant: 'red', actor: 'anna', model: 'm:1b', promptTokens: 10, outputTokens: 5 }

const line = (at: number, tokens: number): string =>
  `${JSON.stringify({ at, tenant: 'red', actor: 'anna', model: 'm:1b', requests: 1, prompt_tokens: tokens, output_tokens: 0 })}\n`

const tokensIn = (file: string): number[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((text) => text !== '')
    .map((text) => (JSON.parse(text) as { prompt_tokens: number }).prompt_tokens)

test('lines older than 90 days go, at the first write and then once a day', async () => {
  const file = path.join(folder(), 'usage.jsonl')
  const clock = manualClock()
  const now = clock.now()
  writeFileSync(file, line(now - KEPT_MS - 1, 1) + line(now - KEPT_MS + 1, 2) + line(now, 3))
  const log = new UsageLog(file, clock)
  log.book(used)
  await log.flush()
  assert.deepEqual(tokensIn(file), [2, 3, 10])
  clock.advance(60_000)
  log.book(used)
  await log.flush()
  assert.deepEqual(tokensIn(file), [2, 3, 10, 10], 'not at every write')
  clock.advance(86_400_000)
  log.book(used)
  await log.flush()
  assert.deepEqual(tokensIn(file), [3, 10, 10, 10])
})

test('a clock that is wrong for an hour costs no line', async () => {
  const file = path.join(folder(), 'usage.jsonl')
  const clock = manualClock()
  const now = clock.now()
  writeFileSync(file, line(now - KEPT_MS + 1, 2) + line(now, 3))
  const ahead = { ...clock, now: () => now + 400 * 86_400_000 }
  const log = new UsageLog(file, ahead)
  log.book(used)
  await log.flush()
  assert.deepEqual(tokensIn(file), [2, 3, 10])
})

test('half a line, as a kill leaves it, takes no other line with it', async () => {
  const file = path.join(folder(), 'usage.jsonl')
  const clock = manualClock()
  writeFileSync(file, line(clock.now(), 7) + line(clock.now(), 8).slice(0, 30))
  const log = new UsageLog(file, clock)
  log.book(used)
  await log.flush()
  const [total] = await log.totals('tenant', 0)
  assert.deepEqual(total, { name: 'red', requests: 2, prompt_tokens: 17, output_tokens: 5 })
})

test('what a failing disk does not take is kept, counted once, and written later', async () => {
  const file = path.join(folder(), 'usage.jsonl')
  mkdirSync(file)
  const log = new UsageLog(file, manualClock())
  log.book(used)
  for (let round = 1; round <= 4; round += 1) {
    const writing = log.flush()
    await Promise.resolve() // the write has begun
    log.book(used)
    await writing
    assert.match(log.error ?? '', /cannot write .*usage\.jsonl: /)
  }
  rmSync(file, { recursive: true })
  await log.flush()
  assert.equal(log.error, undefined)
  const [total] = await log.totals('model', 0)
  assert.deepEqual(total, { name: 'm:1b', requests: 5, prompt_tokens: 50, output_tokens: 25 })
})

// The lines that a filling disk still takes are those of a write that failed: it is made again.
test('a write that ends half way is counted once', () => {
  const file = path.join(folder(), 'usage.jsonl')
  const script = path.join(import.meta.dirname, '..', '..', 'support', 'usage-at-limit.js')
  const limited = 'ulimit -f 8; exec "$0" "$@"'
  const text = execFileSync('sh', ['-c', limited, process.execPath, script, file], {
    encoding: 'utf8',
  })
  const { error, total } = JSON.parse(text) as { error: string; total: { requests: number } }
  assert.match(error, /cannot write/)
  assert.equal(total.requests, 100)
  assert.equal(tokensIn(file).length, 1, 'nothing of it is left in the file')
})
