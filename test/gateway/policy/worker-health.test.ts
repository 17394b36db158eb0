import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  nextHealth,
  probePause,
  type HealthEvent,
  type HealthState,
} from '../../../src/gateway/policy/worker-health.ts'

const start: HealthState = { health: { state: 'starting' }, current: undefined, misses: 0 }
const failuresToDown = 2

/** `0` and `1`: that address answered; `-`: a periodic round failed; `!`: one that was asked for. */
const EVENTS: Record<string, HealthEvent> = {
  '0': { type: 'answered', address: 0 },
  '1': { type: 'answered', address: 1 },
  '-': { type: 'unanswered', error: 'silence', periodic: true, failuresToDown },
  '!': { type: 'unanswered', error: 'silence', periodic: false, failuresToDown },
  l: { type: 'lost', address: 0, error: 'lost', addresses: 1 },
  L: { type: 'lost', address: 0, error: 'lost', addresses: 2 },
}

/** An event in brackets happens while bytes flow. */
function after(events: string): HealthState {
  let at = 0
  return (events.match(/\(.\)|./g) ?? []).reduce<HealthState>((state, written) => {
    at += 1
    const event = EVENTS[written.replace(/[()]/g, '')]
    assert.ok(event)
    return nextHealth(state, event, { mono: at, wall: 1000 + at }, written.startsWith('('))
  }, start)
}

const cases: [name: string, events: string, health: string, current: number | undefined][] = [
  ['not probed yet', '', 'starting', undefined],
  ['the first answer', '0', 'up', 0],
  ['a lower address', '1', 'up', 1],
  ['back to the higher one', '10', 'up', 0],
  ['the first round fails', '-', 'down', undefined],
  ['one miss is none', '0-', 'up', 0],
  ['two misses in a row', '0--', 'down', undefined],
  ['an answer between', '0-0-', 'up', 0],
  ['a round that was asked for decides', '0!', 'down', undefined],
  ['bytes flow: no miss counts', '0(-)(-)(-)', 'up', 0],
  ['bytes flowed: it begins anew', '0-(-)-', 'up', 0],
  ['bytes flow: asked for or not', '0(!)', 'up', 0],
  ['bytes flow: it still moves', '0(1)', 'up', 1],
  ['lost, with one address', '0l', 'down', undefined],
  ['lost, with two: the next round finds out', '0L', 'starting', undefined],
  ['lost, and the other answers', '0L1', 'up', 1],
  ['lost, and no other', '0L-', 'down', undefined],
  ['lost is not the current one', '1L', 'up', 1],
  ['lost while bytes flow', '0(l)', 'up', 0],
  ['up again', '0--0', 'up', 0],
]
for (const [name, events, health, current] of cases) {
  test(`${name}: ${events}`, () => {
    const state = after(events)
    assert.equal(state.health.state, health)
    assert.equal(state.current, current)
  })
}

test('down keeps its beginning and tells the newest reason', () => {
  const { health } = after('0---')
  assert.deepEqual(health, { state: 'down', sinceMono: 3, sinceWall: 1003, error: 'silence' })
})

test('down is probed at the interval for a minute, then ever less often up to the bound', () => {
  const down = { state: 'down', sinceMono: 0, sinceWall: 0, error: '' } as const
  const pauses: number[] = []
  for (let now = 0, previousMs = 5000; now < 200_000; now += previousMs) {
    previousMs = probePause(down, { intervalMs: 5000, maxBackoffMs: 30_000, previousMs }, now)
    pauses.push(previousMs)
  }
  assert.deepEqual(pauses.slice(0, 12), Array(12).fill(5000))
  assert.deepEqual(pauses.slice(12, 16), [10_000, 20_000, 30_000, 30_000])
  const up = { state: 'up', sinceMono: 0 } as const
  const settings = { intervalMs: 5000, maxBackoffMs: 30_000, previousMs: 30_000 }
  assert.equal(probePause(up, settings, 500_000), 5000)
  const slow = { intervalMs: 60_000, maxBackoffMs: 30_000, previousMs: 60_000 }
  assert.equal(probePause(down, slow, 500_000), 60_000, 'never faster than the interval')
})
