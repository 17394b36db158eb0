import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { Config } from '../../../src/gateway/config/schema.ts'
import { creditsLeft, inWindow, windowStart } from '../../../src/gateway/policy/credits.ts'
import type { Reserved } from '../../../src/gateway/policy/credits.ts'
import { CreditsState } from '../../../src/gateway/state/credits-state.ts'
import { watchedDisk } from '../../support/faulty-disk.ts'
import { until } from '../../support/until.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const NOON = Date.UTC(2026, 5, 1, 12)
const patience = { timeoutMs: 10_000 }

test('windows are counted from 00:00 UTC', () => {
  assert.equal(windowStart(NOON, DAY), Date.UTC(2026, 5, 1))
  assert.equal(windowStart(NOON + 90_000, HOUR), NOON)
  assert.equal(windowStart(Date.UTC(2026, 5, 1), DAY), Date.UTC(2026, 5, 1))
})

const ACCOUNT = { windowStart: windowStart(NOON, DAY), used: 70, reserved: 20, granted: 5 }

test('a new window counts anew, running requests stay reserved, a clock set back gives nothing', () => {
  assert.equal(inWindow(ACCOUNT, NOON + HOUR, DAY), ACCOUNT)
  const next = inWindow(ACCOUNT, NOON + DAY, DAY)
  assert.deepEqual([next.used, next.reserved, next.granted], [0, 20, 0])
  for (const back of [HOUR * 13, DAY * 400]) {
    assert.equal(inWindow(ACCOUNT, NOON - back, DAY).used, 70)
  }
})

test('0 is no limit; what is left is never below zero', () => {
  assert.equal(creditsLeft(ACCOUNT, 0), undefined)
  assert.equal(creditsLeft(ACCOUNT, 100), 15)
  assert.equal(creditsLeft(ACCOUNT, 10), 0)
})

interface Ledger {
  state: CreditsState
  file: string
  wall: { now: number }
  troubles: (string | undefined)[]
}

function open(limits: object, given: { file?: string; failing?: () => boolean } = {}): Ledger {
  const file = given.file ?? path.join(mkdtempSync(path.join(tmpdir(), 'ogw-credits-')), 'c.json')
  const wall = { now: NOON }
  const troubles: (string | undefined)[] = []
  const { tenants } = Config.parse({ tenants: [{ name: 't', ...limits }, { name: 'u' }] })
  const clock = {
    now: () => wall.now,
    mono: () => performance.now(),
    after(ms: number, run: () => void) {
      const timer = setTimeout(run, Math.min(ms, 50))
      return { cancel: () => clearTimeout(timer) }
    },
  }
  const disk = watchedDisk(() => {
    if (given.failing?.() === true) throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
  })
  const onTrouble = (error: Error | undefined): void => void troubles.push(error?.message)
  const state = new CreditsState(file, { clock, disk, tenants: () => tenants, onTrouble })
  return { state, file, wall, troubles }
}

const T = { tenant: 't', account: undefined }
const anna = { tenant: 't', account: 'anna' }

function taken(answer: Reserved) {
  assert.ok(answer.ok)
  return answer.reservation
}

test('what is reserved cannot be reserved again, and settling gives back the rest, once', () => {
  const { state } = open({ credits: 100, actor_credits: 60 })
  const first = taken(state.reserve(anna, 60))
  const second = state.reserve(anna, 1)
  assert.deepEqual(second, { ok: false, who: 'actor', resetAtMs: Date.UTC(2026, 5, 2) })
  const other = state.reserve({ tenant: 't', account: 'ben' }, 41)
  assert.deepEqual(other, { ok: false, who: 'tenant', resetAtMs: Date.UTC(2026, 5, 2) })
  assert.equal(state.state({ tenant: 't', account: 'ben' }).reserved, 0, 'both or none')
  first.settle(10)
  first.settle(10)
  for (const payer of [T, anna]) {
    const { used, reserved } = state.state(payer)
    assert.deepEqual([used, reserved], [10, 0])
  }
  assert.ok(state.reserve({ tenant: 'u', account: 'x' }, 1e9).ok, 'the other tenant is untouched')
})

test('a thousand settlements at once end at what was used', async () => {
  const { state } = open({ credits: 1_000_000 })
  const all = Array.from({ length: 1000 }, () => taken(state.reserve(anna, 500)))
  assert.equal(state.state(T).reserved, 500_000)
  await Promise.all(
    all.map(async (reservation, i) => {
      await Promise.resolve()
      reservation.settle(i % 7)
    }),
  )
  const sum = all.reduce((total, _, i) => total + (i % 7), 0)
  assert.deepEqual([state.state(T).used, state.state(T).reserved], [sum, 0])
  assert.equal(state.state(anna).used, sum)
})

test('a request that runs over the end of its window is charged to the one in which it ends', () => {
  const { state, wall } = open({ credits: 100 })
  taken(state.reserve(T, 100)).settle(95)
  const late = taken(state.reserve(T, 5))
  wall.now += DAY
  assert.equal(state.state(T).used, 0)
  late.settle(30)
  assert.deepEqual([state.state(T).used, state.state(T).reserved], [30, 0])
})

// A process that is killed writes nothing more: what another one reads is what was on disk.
test('what was used is on disk within a second, grants at once', async () => {
  const { state, file } = open({ credits: 100 })
  taken(state.reserve(anna, 50)).settle(33)
  await until(() => open({}, { file }).state.state(anna).used === 33, {
    ...patience,
    what: 'the write',
  })
  await state.grant(T, 7)
  const again = open({ credits: 100 }, { file }).state
  assert.deepEqual(
    [again.state(T).used, again.state(T).granted, again.state(T).reserved],
    [33, 7, 0],
  )
  await state.reset(T)
  assert.equal(open({}, { file }).state.state(T).used, 0)
})

test('a full disk refuses grants, stops no request, and is made good when it has room', async () => {
  let full = true
  const { state, file, troubles } = open({ credits: 100 }, { failing: () => full })
  taken(state.reserve(anna, 10)).settle(10)
  await assert.rejects(state.grant(T, 7), /no space/)
  assert.equal(state.state(T).granted, 0, 'a refused grant changes nothing')
  taken(state.reserve(anna, 10)).settle(5)
  assert.match(state.error ?? '', /no space/)
  full = false
  await until(() => open({}, { file }).state.state(T).used === 15, {
    ...patience,
    what: 'the write',
  })
  await until(() => state.error === undefined, { ...patience, what: 'no trouble' })
  assert.equal(troubles.length, 2, 'told once each way')
  await state.flush()
})

test('grants that a full disk refuses together leave nothing behind, one that it takes stays', async () => {
  // A write that is refused makes two calls: its first, and the one that clears up.
  let left = 0
  const { state, file, wall } = open({ credits: 100 }, { failing: () => (left -= 1) >= 0 })
  const outcome = async (grants: Promise<void>[]) =>
    (await Promise.allSettled(grants)).map(({ status }) => status)

  left = 4
  const both = await outcome([state.grant(T, 100), state.grant(T, 50)])
  assert.deepEqual([both, state.state(T).granted], [['rejected', 'rejected'], 0])
  left = 2
  const second = await outcome([state.grant(T, 100), state.grant(T, 50)])
  assert.deepEqual([second, state.state(T).granted], [['rejected', 'fulfilled'], 50])
  assert.equal(open({ credits: 100 }, { file }).state.state(T).granted, 50)

  taken(state.reserve(T, 20)).settle(20)
  left = 4
  const refused = [state.grant(T, 7), state.reset(T)]
  wall.now += DAY
  await outcome(refused)
  const { used, granted } = state.state(T)
  assert.deepEqual(
    [used, granted],
    [0, 0],
    'what was refused in the old window is no part of the new',
  )
  await state.flush()
})
