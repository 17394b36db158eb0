// How the same data looks on a terminal, in a pipe, and to those who want no colours or signs.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { lookOf } from '../../src/cli/output.ts'
import { renderTable } from '../../src/cli/table.ts'
import { cell, foreign } from '../../src/tui/present/cell.ts'
import { width } from '../../src/tui/present/text.ts'
import { type FakeAdmin, startFakeAdmin } from '../support/fake-admin.ts'
import * as fleet from '../support/fleet-fixture.ts'
import { run } from '../support/run-cli.ts'

let admin: FakeAdmin
before(async () => {
  admin = await startFakeAdmin({
    'placement.show': () => fleet.matrix,
    'models.list': () => fleet.models,
    'workers.list': () => fleet.workers,
  })
})
after(() => admin[Symbol.asyncDispose]())

const ESCAPES = /\u001b\[\d+m/g // oxlint-disable-line no-control-regex -- what is looked for

test('colours: on a terminal, unless something says no', () => {
  const tty = { isTTY: true, write: () => {} }
  const pipe = { write: () => {} }
  const plain = { ascii: false, color: true }
  const cases: [boolean, typeof tty | typeof pipe, Record<string, string>, boolean][] = [
    [true, tty, {}, true],
    [false, pipe, {}, true],
    [false, tty, { NO_COLOR: '1' }, true],
    [true, tty, { NO_COLOR: '' }, true],
    [false, tty, { TERM: 'dumb' }, true],
    [true, pipe, { FORCE_COLOR: '1' }, true],
    [true, tty, { FORCE_COLOR: '1', TERM: 'dumb' }, true],
    [false, tty, { FORCE_COLOR: '0' }, true],
    [false, tty, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
    [false, tty, { FORCE_COLOR: '1' }, false],
  ]
  for (const [expected, stream, env, color] of cases) {
    assert.equal(lookOf(stream, env, { ...plain, color }).color, expected, JSON.stringify(env))
  }
})

test('names of strangers keep the columns straight and steer nothing', async () => {
  for (const line of ['placement', 'models', 'workers']) {
    const { stdout } = await run([line], { socket: admin.socket, terminal: 200 })
    const bare = stdout.replaceAll(ESCAPES, '')
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    assert.doesNotMatch(bare, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/, line)
  }
})

test('on a terminal no row is wider than it, and the tag of a model survives', async () => {
  for (const columns of [80, 100, 120]) {
    const { stdout } = await run(['placement'], { socket: admin.socket, terminal: columns })
    for (const row of stdout.replaceAll(ESCAPES, '').trimEnd().split('\n')) {
      assert.ok(width(row) <= columns, `${columns}: ${row}`)
    }
  }
  const { stdout } = await run(['placement'], { socket: admin.socket, terminal: 50 })
  assert.match(stdout, /x\\u001b]5.*…\\u202e:1|…:1/)
})

test('in a pipe nothing is cut', async () => {
  const name = 'a-model-with-a-name-that-is-longer-than-every-terminal'.repeat(5)
  const table = {
    columns: [{ header: 'MODEL', cut: 'middle' as const }, { header: 'X' }],
    rows: [[foreign(name), cell('1')]],
  }
  const look = { color: false, ascii: false, columns: undefined }
  assert.ok(renderTable(table, look).includes(name))
  assert.ok(width(renderTable(table, { ...look, columns: 40 }).split('\n')[1] ?? '') <= 40)
})

test('every row of a table begins its columns at the same cell', () => {
  const names = [
    'plain',
    fleet.WIDE,
    '🦙🚀:latest',
    'e\u0301'.repeat(9),
    '👩‍👩‍👧‍👦:7b',
    fleet.EVIL,
    'مدل:8b',
  ]
  const table = {
    columns: [{ header: 'NAME' }, { header: 'END' }],
    rows: names.map((name) => [foreign(name), cell('|')]),
  }
  const lines = renderTable(table, { color: false, ascii: false, columns: undefined })
    .trimEnd()
    .split('\n')
  assert.equal(new Set(lines.map((line) => width(line.replace(/(END|\|)$/, '')))).size, 1)
})

test('lines do not end in blanks, and colour wraps only text', () => {
  const table = {
    columns: [{ header: 'A' }, { header: 'B' }],
    rows: [[cell('x', 'bad'), cell('')]],
  }
  assert.equal(
    renderTable(table, { color: true, ascii: false, columns: 80 }),
    'A   B\n\u001b[31mx\u001b[0m\n',
  )
})

test('--ascii writes letters for signs, in every cell', async () => {
  const { stdout } = await run(['placement', '--ascii'], { socket: admin.socket })
  const row = stdout.split('\n').find((line) => line.startsWith('qwen3:8b')) ?? ''
  assert.match(row, /^qwen3:8b +L +X= +\?$/)
})

test('--json is the same on a terminal: no colour, nothing raw', async () => {
  const inPipe = await run(['models', '--json'], { socket: admin.socket })
  const onTerminal = await run(['models', '--json'], { socket: admin.socket, terminal: 80 })
  assert.equal(inPipe.stdout, onTerminal.stdout)
  assert.deepEqual(JSON.parse(inPipe.stdout), fleet.models)
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  assert.doesNotMatch(inPipe.stdout, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
})
