import assert from 'node:assert/strict'
import { fstatSync } from 'node:fs'
import { test } from 'node:test'
import { cleanText, MAX_FIELD_LENGTH } from '../../../src/gateway/observe/log-text.ts'
import { createLog, stderrIsJournal } from '../../../src/gateway/observe/log.ts'
import type { Log, LogLevel } from '../../../src/gateway/observe/log.ts'
import { createObserver, requestLog } from '../../../src/gateway/observe/observer.ts'
import type { RequestRecord } from '../../../src/gateway/observe/request-record.ts'
import { aRecord } from '../../support/request-records.ts'

function capture(level: LogLevel = 'info', journal = false): { log: Log; lines: string[] } {
  const lines: string[] = []
  return {
    log: createLog({ level, journal, output: { write: (line) => lines.push(line) } }),
    lines,
  }
}

const only = (lines: readonly string[]): Record<string, unknown> => {
  assert.equal(lines.length, 1)
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>
}

test('an event is one JSON line with a name, a level, a time and its fields', () => {
  const { log, lines } = capture()
  log.event('worker.down', { worker: 'node-1', misses: 2, forced: false, ip: undefined })
  const { time, ...line } = only(lines)
  assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(line, {
    level: 'warn',
    event: 'worker.down',
    worker: 'node-1',
    misses: 2,
    forced: false,
  })
  assert.ok(lines[0]?.endsWith('}\n'))
})

test('the level decides what is written, and can change', () => {
  const { log, lines } = capture('warn')
  log.event('request.done')
  assert.equal(lines.length, 0)
  log.setLevel('info')
  log.event('request.done')
  log.setLevel('silent')
  log.bug('request.bug', new Error('x'))
  assert.equal(lines.length, 1)
})

test('journald gets the priority of each line', () => {
  const { log, lines } = capture('info', true)
  log.event('request.done')
  log.event('worker.down')
  log.bug('request.bug', new Error('x'))
  assert.deepEqual(
    lines.map((line) => line.slice(0, 4)),
    ['<6>{', '<4>{', '<3>{'],
  )
})

test('stderr is the journal only if it is the very stream that was announced', () => {
  const { dev, ino } = fstatSync(2)
  assert.equal(stderrIsJournal({}), false)
  assert.equal(stderrIsJournal({ JOURNAL_STREAM: '1:2' }), false)
  assert.equal(stderrIsJournal({ JOURNAL_STREAM: `${dev}:${ino}` }), true)
})

// B130: right or wrong, a key must not be found in any log.
const secrets: [text: string, cleaned: string][] = [
  ['GET /k/TESTLEAK-1/api/chat', 'GET /k/***/api/chat'],
  ['//k//TESTLEAK-1', '//k//***'],
  ['Authorization: Bearer TESTLEAK-1', 'Authorization: *** ***'],
  ['sent "authorization":"Bearer TESTLEAK-1"', 'sent "authorization":"*** ***"'],
  ['Bearer TESTLEAK-1, and more', 'Bearer ***, and more'],
  ['Basic VEVTVExFQUstMQ==', 'Basic ***'],
  ['x-api-key=TESTLEAK-1&a=b', 'x-api-key=***&a=b'],
  [
    'connect http://user:TESTLEAK-1@10.0.0.1:11434/x failed',
    'connect http://***@10.0.0.1:11434/x failed',
  ],
  ['https://TESTLEAK-1@host', 'https://***@host'],
  ['wrong key sk-TESTLEAK-1', 'wrong key sk-***'],
  // What only looks like it stays.
  ['http://10.0.0.1:11434/api/chat', 'http://10.0.0.1:11434/api/chat'],
  ['qwen3:8b', 'qwen3:8b'],
  ['promptTokens: 12', 'promptTokens: 12'],
]

test('secrets are masked wherever they stand', () => {
  for (const [text, cleaned] of secrets) assert.equal(cleanText(text), cleaned)
  const { log, lines } = capture('debug')
  for (const [text] of secrets) log.event('test', { text })
  assert.doesNotMatch(lines.join(''), /TESTLEAK|VEVTVEx/)
})

test('control characters are shown, not sent, and fields are bounded', () => {
  assert.equal(cleanText('a\nb\u001b[2J\u009b\u202e'), 'a\\u000ab\\u001b[2J\\u009b\\u202e')
  const { log, lines } = capture()
  log.event('test', { long: 'x'.repeat(100_000) })
  assert.equal(String(only(lines)['long']).length, MAX_FIELD_LENGTH + 1)
})

test('a bug says where it happened, and never what was read', () => {
  const { log, lines } = capture()
  try {
    JSON.parse('CANARY-42')
  } catch (error) {
    log.bug('request.bug', error, { request: 'r1' })
  }
  const line = only(lines)
  assert.equal(line['error'], 'SyntaxError')
  assert.match(String(line['stack']), /at .*log\.test/)
  assert.doesNotMatch(lines.join(''), /CANARY-42/)
  log.bug('request.bug', new TypeError('x is not a function'))
  assert.match(lines[1] ?? '', /TypeError: x is not a function/)
  log.bug('request.bug', 'CANARY-42')
  assert.doesNotMatch(lines.join(''), /CANARY-42/)
})

const record: RequestRecord = {
  ...aRecord('r1', 'qwen3:8b'),
  actor: 'anonymous',
  outputMs: undefined,
  queueMs: 0.4,
  ttfbMs: undefined,
  durationMs: 12.6,
  promptTokens: 3,
  outputTokens: 4,
}

test('a request leaves one line of metadata', () => {
  const { log, lines } = capture()
  requestLog(log)(record)
  const line = only(lines)
  assert.equal(line['event'], 'request.done')
  assert.equal(line['duration_ms'], 13)
  assert.equal(line['outcome'], 'ok')
})

// B036: a full disk under a log, or a bug in a counter, is no reason to fail a request.
test('a listener that throws stops neither the request nor the other listeners', () => {
  const { log, lines } = capture()
  const heard: string[] = []
  const observer = createObserver(log, [
    () => {
      throw new Error('full')
    },
    ({ id }) => heard.push(id),
  ])
  observer.requestDone(record)
  assert.deepEqual(heard, ['r1'])
  assert.equal(only(lines)['event'], 'log.sink_failed')
})
