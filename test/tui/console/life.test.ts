// The console over the life of its gateway and of its terminal.

import assert from 'node:assert/strict'
import { rmSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { startFakeGateway } from '../../support/fake-gateway.ts'
import { EVIL, WIDE } from '../../support/fleet-fixture.ts'
import { largeFleet, seeded } from '../../support/large-fleet.ts'
import { startConsole } from '../../support/tty.ts'

test('it enters the alternate screen, and gives everything back when it is quit', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  assert.ok(console.screen.isAlternate)
  assert.ok(!console.screen.modes.has('25'), 'the cursor is hidden')
  assert.ok(console.screen.modes.has('2004'), 'pastes are told apart')
  console.send('q')
  await console.ended
  assert.ok(!console.screen.isAlternate)
  assert.ok(console.screen.modes.has('25'))
  assert.ok(!console.screen.modes.has('2004'))
  assert.match(
    console.words(),
    /closed\. The gateway keeps serving on 127\.0\.0\.1:11435 \(rev 41\)/,
  )
  assert.deepEqual(console.screen.unknown, [])
})

test('a quiet fleet writes nothing', async () => {
  await using gateway = await startFakeGateway({
    snapshot: { ...largeFleet({ workers: 12, models: 61, requests: 0 }) },
  })
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  await console.settled()
  // A minute may begin meanwhile, which moves the clock: then the second look is quiet.
  let least = Number.POSITIVE_INFINITY
  for (let look = 0; look < 2 && least > 0; look += 1) {
    const before = console.screen.bytes
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    least = console.screen.bytes - before
  }
  assert.equal(least, 0)
})

// B159: a frame higher than the terminal, or a library that clears to be safe, wipes the scrollback
// of whoever looks and flickers over SSH.
test('no change of the fleet clears the screen or what was scrolled away', async () => {
  for (const [columns, rows] of [
    [80, 24],
    [80, 16],
    [120, 36],
  ] as const) {
    const fleet = largeFleet({ workers: 12, models: 150, requests: 200 })
    await using gateway = await startFakeGateway({ snapshot: fleet })
    await using console = startConsole(gateway.socket, { columns, rows })
    await console.see(/● live/)
    await console.settled()
    const before = console.screen.written.length
    for (let step = 1; step <= 8; step += 1) {
      const queue = { ...fleet.gateway.queue, waiting: step }
      gateway.set((now) => ({ ...now, gateway: { ...now.gateway, queue } }))
      await console.see(new RegExp(`\\bq(?:ueue)? ${step}\\b`))
      await console.type(String(1 + (step % 6)), 'G', 'g')
    }
    const written = console.screen.written.slice(before)
    assert.ok(written.length > 1_000, 'much was drawn')
    // oxlint-disable-next-line no-control-regex -- what must not be there
    assert.doesNotMatch(written, /\u001b\[[23]J|\u001bc/)
    assert.equal(console.screen.unknown.length, 0)
  }
})

// NO_COLOR is no attribute: the cursor is seen by its brackets and by its inverse.
test('NO_COLOR writes no colour, and the cursor is still seen', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket, {
    env: { LANG: 'C.UTF-8', TERM: 'xterm', NO_COLOR: '1' },
  })
  await console.see(/\[✓\]/)
  // oxlint-disable-next-line no-control-regex -- colours are what must not be there
  assert.doesNotMatch(console.screen.written, /\u001b\[(?:[\d;]*;)?(?:3|4|9|10)\d(?:;[\d;]*)?m/)
  // oxlint-disable-next-line no-control-regex -- inverse is
  assert.match(console.screen.written, /\u001b\[7m/)
})

test('a locale that is not UTF-8 means letters, and is told once', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket, { env: { LANG: 'C', TERM: 'xterm' } })
  const lines = await console.see(/letters in place of signs: the locale \(C\) is not UTF-8/)
  await console.see(/L live/)
  for (const line of lines) assert.match(line, /^[ -~]*$/)
})

test('names that steer terminals neither reach it raw nor move the columns', async () => {
  const fleet = largeFleet({ workers: 3, models: 6 })
  const models = fleet.models.map((row, index) => ({
    ...row,
    model: [EVIL, WIDE][index] ?? row.model,
  }))
  await using gateway = await startFakeGateway({ snapshot: { ...fleet, models } })
  await using console = startConsole(gateway.socket)
  await console.see(/模型/)
  await console.type('y')
  assert.ok(
    !console.screen.written.includes('\u001b]52;c;ZXZpbA'),
    'what the name says is not done',
  )
  assert.ok(!console.screen.written.includes('\u202e'))
  for (const screen of ['2', '3', '4', '6']) await console.type(screen)
  assert.deepEqual(console.screen.unknown, [])
})

test('the gateway dies: said at once, writes refused, cursor kept when it is back', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-tui-'))
  const socket = path.join(folder, 'admin.sock')
  const gateway = await startFakeGateway({ socket })
  await using console = startConsole(socket)
  await console.see(/● live/)
  await console.type('j')
  await console.see(/>.*gemma4:27b/)

  const { snapshot } = gateway
  await gateway[Symbol.asyncDispose]()
  await console.see(/disconnected/)
  const lines = await console.see(/STALE/)
  assert.match(lines.join('\n'), /gemma4:27b/, 'the last picture stays')
  assert.match(console.screen.styleOf('gemma4:latest') ?? '', /2/, 'dimmed')
  console.send(' ')
  await console.see(/not sent: gateway unreachable/)

  await using next = await startFakeGateway({
    socket,
    snapshot: { ...snapshot, placement: { ...snapshot.placement, revision: 44 } },
  })
  await console.see(/● live/)
  await console.see(/the gateway is back after .* rev 41 to 44/)
  await console.see(/>.*gemma4:27b/)
  assert.deepEqual(next.changes(), [])
  rmSync(folder, { recursive: true, force: true })
})

// B169: old figures must not look live.
test('a gateway that freezes is stale within seconds, and live again when it thaws', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  gateway.freeze()
  await console.see(/STALE, silent for \ds/, 8_000)
  console.send(' ')
  await console.see(/not sent/)
  gateway.thaw()
  await console.see(/● live/)
})

test('no gateway: says where it looked and what to do, and connects when one comes', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-tui-'))
  const socket = path.join(folder, 'admin.sock')
  await using console = startConsole(socket)
  await console.see(/There is no gateway at this socket/)
  await console.see(/ogw serve/)
  await using gateway = await startFakeGateway({ socket })
  console.send('r')
  await console.see(/● live/)
  rmSync(folder, { recursive: true, force: true })
  void gateway
})

test('two consoles see each other’s edits', async () => {
  await using gateway = await startFakeGateway()
  await using one = startConsole(gateway.socket)
  await using two = startConsole(gateway.socket)
  await one.see(/● live/)
  await two.see(/● live/)
  one.send('d')
  await one.see(/denied gemma4:12b on node-1/)
  await two.see(/rev 42/)
  await two.see(/\[✗↳\]/)
})

/** A minute may begin between two looks. */
const withoutClock = (lines: readonly string[]): string[] =>
  lines.map((line) => line.replace(/(?:up \S+ +)?\d\d:\d\d$/, ''))

test(
  'after any resize and edit the screen is that of a console that is fresh',
  { timeout: 110_000 },
  async () => {
    const random = seeded(7)
    await using gateway = await startFakeGateway()
    await using console = startConsole(gateway.socket)
    await console.see(/● live/)
    const keys = ['j', 'k', 'l', 'h', '2', '1', '3', '4', '6', '\t', 'G', 'g', 'i', 'z']
    for (let round = 0; round < 40; round += 1) {
      console.send(keys[Math.floor(random() * keys.length)]!)
      if (random() < 0.5)
        console.resize(60 + Math.floor(random() * 100), 16 + Math.floor(random() * 40))
      if (random() < 0.2)
        gateway.set((before) => ({
          ...before,
          placement: { ...before.placement, revision: before.placement.revision + 1 },
        }))
      if (round % 5 !== 4) continue
      await console.settled()
      const seen = withoutClock(console.screen.lines())
      // Ctrl-L draws everything again: what differs then was wrong before.
      await console.type('\f')
      assert.deepEqual(
        seen,
        withoutClock(console.screen.lines()),
        `round ${round} at ${console.screen.columns}x${console.screen.rows}`,
      )
    }
  },
)

test('too small is told, and is over when the window grows', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket)
  await console.see(/● live/)
  console.resize(48, 12)
  await console.see(/needs at least 60x16, this is 48x12/)
  console.resize(80, 24)
  await console.see(/1 Plac/)
})

test('--read-only refuses every change and says why', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket, { readOnly: true })
  await console.see(/read-only/)
  await console.see(/● live/)
  for (const key of [' ', 'a', 'd', 'x', 'A', 'D', 'L', 'u']) {
    console.send(key)
    await console.see(/only reads/)
    console.send('j')
    await console.miss(/only reads/)
  }
  assert.deepEqual(gateway.changes(), [])
})

test('a screen reader gets lines of words, no alternate screen, and nothing moves by itself', async () => {
  await using gateway = await startFakeGateway()
  await using console = startConsole(gateway.socket, { screenReader: true })
  await console.see(/gemma4:12b on node-1: installed/)
  assert.ok(!console.screen.isAlternate)
  await console.settled()
  const before = console.screen.bytes
  gateway.set((now) => ({ ...now, traffic: { ...now.traffic, requests_per_s: 99 } }))
  await console.settled()
  assert.equal(console.screen.bytes, before)
  console.send('j')
  await console.see(/gemma4:27b on node-1/)
})
