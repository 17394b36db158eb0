import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
} from 'node:fs'
import { rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { openAuditLog } from '../../../src/gateway/observe/audit-log.ts'
import { EventRing } from '../../../src/gateway/observe/event-ring.ts'
import { manualClock } from '../../support/manual-clock.ts'

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'ogw-audit-'))
  file = path.join(dir, 'audit.jsonl')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const open = (maxBytes = 1_000_000, keep = 3) => {
  const clock = manualClock()
  return { clock, log: openAuditLog({ file, maxBytes, keep }, clock) }
}
const anything = (entry: unknown): unknown => entry
const lines = (at = file): unknown[] =>
  readFileSync(at, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

test('entries are written together, a moment later, for their owner only', async () => {
  const { log, clock } = open()
  log.write({ operation: 'a' })
  log.write({ operation: 'b' })
  assert.ok(!existsSync(file), 'whoever writes waits for no disk')
  clock.advance(1_000)
  await log.flush()
  assert.deepEqual(lines(), [
    { at: '2026-11-30T00:00:00.000Z', operation: 'a' },
    { at: '2026-11-30T00:00:00.000Z', operation: 'b' },
  ])
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('the file is rotated before it grows beyond its bound, and no more are kept than said', async () => {
  const { log } = open(400, 2)
  for (let n = 0; n < 30; n += 1) {
    log.write({ n, filler: 'x'.repeat(50) })
    await log.flush()
  }
  assert.deepEqual(readdirSync(dir).toSorted(), ['audit.jsonl', 'audit.jsonl.1', 'audit.jsonl.2'])
  for (const name of readdirSync(dir)) assert.ok(statSync(path.join(dir, name)).size <= 400)
  const kept = [`${file}.2`, `${file}.1`, file].flatMap((each) => lines(each))
  const numbers = kept.map((entry) => (entry as { n: number }).n)
  assert.equal(numbers.at(-1), 29)
  assert.deepEqual(
    numbers,
    [...numbers].toSorted((a, b) => a - b),
    'none is lost in between',
  )
})

// A folder in the place of the file: no disk call on it can succeed, whoever runs the test.
test('a disk that fails is a flag and never an exception; nothing is lost when it is back', async () => {
  mkdirSync(file)
  const { log } = open()
  log.write({ n: 1 })
  await log.flush()
  assert.match(log.error ?? '', /cannot write .*EISDIR/)
  log.write({ n: 2 })
  await log.flush()
  rmSync(file, { recursive: true })
  await log.flush()
  assert.equal(log.error, undefined)
  assert.deepEqual(
    lines().map((entry) => (entry as { n: number }).n),
    [1, 2],
  )
})

test('a disk that fails for long costs a bounded memory: the oldest entries go, counted', async () => {
  mkdirSync(file)
  const { log } = open()
  for (let n = 0; n < 10_010; n += 1) log.write({ n })
  await log.flush()
  assert.equal(log.dropped, 10)
})

test('an entry as large as a page is cut to what it is about', async () => {
  const { log } = open()
  log.write({ operation: 'placement.apply', input: 'x'.repeat(400_000), message: 'm' })
  await log.flush()
  assert.deepEqual(lines(), [
    {
      at: '2026-11-30T00:00:00.000Z',
      operation: 'placement.apply',
      input: null,
      message: 'm',
      before: null,
      after: null,
      cut: true,
    },
  ])
})

test('the newest first, also behind a line that a kill cut short, and only what is asked for', async () => {
  const { log } = open()
  assert.deepEqual(await log.recent(5, anything), [])
  log.write({ n: 1 })
  await log.flush()
  appendFileSync(file, '{"n":\n{"request":1}\n')
  log.write({ n: 2 })
  const numbers = await log.recent(5, (entry) => (entry as { n?: number }).n)
  assert.deepEqual(numbers, [2, 1])
  assert.deepEqual(await log.recent(1, (entry) => (entry as { n?: number }).n), [2])
})

test('the ring of events keeps the newest thousand and numbers them on', () => {
  const ring = new EventRing(manualClock())
  for (let n = 1; n <= 2_500; n += 1) {
    ring.add({ severity: 'info', event: 'e', object: `${n}`, detail: 'd'.repeat(5_000) })
  }
  assert.equal(ring.seq, 2_500)
  assert.equal(ring.after(0).length, 1_000)
  assert.deepEqual([ring.after(0)[0]?.seq, ring.after(0).at(-1)?.seq], [1_501, 2_500])
  assert.deepEqual(
    ring.after(2_498).map(({ object }) => object),
    ['2499', '2500'],
  )
  assert.deepEqual(ring.after(2_500), [])
  assert.equal(ring.after(0, 2).length, 2)
  assert.equal(ring.after(2_499)[0]?.detail.length, 1_000)
})

test('half a line, as a kill leaves it, takes no other entry with it', async () => {
  appendFileSync(file, '{"at":"2026-11-30T00:00:00.000Z","opera')
  const { log } = open()
  log.write({ operation: 'next' })
  await log.flush()
  assert.equal((await log.recent(9, anything)).length, 1)
})
