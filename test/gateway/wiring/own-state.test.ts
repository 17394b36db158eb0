// A gateway says in its state folder that it runs, and nothing there keeps it from starting.

import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import path from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { createLog } from '../../../src/gateway/observe/log.ts'
import { StartError } from '../../../src/gateway/start-error.ts'
import { ownState } from '../../../src/gateway/wiring/own-state.ts'
import { manualClock } from '../../support/manual-clock.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'ogw-own-'))
after(() => rmSync(folder, { recursive: true }))
const dir = path.join(folder, 'state')
const file = path.join(dir, 'gateway.json')
const restored = (): boolean => false
const socket = path.join(folder, 'admin.sock')
let lines: string[] = []
const log = createLog({ level: 'debug', output: { write: (line) => lines.push(line) } })
beforeEach(() => {
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  lines = []
})

const gone = { version: 1, pid: process.ppid, host: hostname(), socket, started_at: 'yesterday' }
const LEFT: Readonly<Record<string, string>> = {
  'of a gateway that was killed, whose number another process has': JSON.stringify({
    ...gone,
    socket: path.join(folder, 'gone.sock'),
  }),
  'of one that had the same socket': JSON.stringify(gone),
  'of a container that had the same number': JSON.stringify({ ...gone, pid: process.pid }),
  'of another machine': JSON.stringify({ ...gone, host: 'other' }),
  'of a newer version': JSON.stringify({ ...gone, version: 2 }),
  'that a power cut has emptied': '',
  'that is half written': '{"version":1,"pi',
}
for (const [name, text] of Object.entries(LEFT)) {
  test(`a word ${name} is no hindrance`, async () => {
    writeFileSync(file, text)
    const owner = await ownState(dir, socket, { clock: manualClock(), log, restored })
    assert.equal((JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid, process.pid)
    owner[Symbol.dispose]()
    assert.ok(!existsSync(file))
    assert.deepEqual(lines, [])
  })
}

// A restore that finds no word takes the gateway for stopped.
test('a disk that is full at the start: it starts, and says so once there is room', async () => {
  const clock = manualClock()
  rmSync(dir, { recursive: true })
  const owner = await ownState(dir, socket, { clock, log, restored })
  assert.match(lines.join(''), /state\.trouble.*gateway\.json/)
  clock.advance(60_000)
  mkdirSync(dir)
  clock.advance(60_000)
  assert.ok(existsSync(file))
  assert.equal(lines.length, 1)
  owner[Symbol.dispose]()
  assert.equal(clock.pending, 0)
  assert.ok(!existsSync(file))
})

// It would run with some of the old state and some of the new, and write the old over the new.
test('a restore while the state is read: it does not start, and leaves no word', async () => {
  const asked = ownState(dir, socket, { clock: manualClock(), log, restored: () => true })
  await assert.rejects(asked, (error) => {
    assert.ok(error instanceof StartError)
    assert.equal(error.exitCode, 1)
    assert.match(error.message, /was restored while this gateway read it: start it again/)
    return true
  })
  assert.ok(!existsSync(file))
})
