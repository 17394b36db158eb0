// A request ends from outside, by its client or by an operator, in whatever phase it is: at once
// the slot is free and the worker stops, and nobody blames the worker.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { DIALECT_CASES } from '../support/dialect-cases.ts'
import type { DialectCase } from '../support/dialect-cases.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const MODEL = 'm:1b'
/** The promise, and what a machine of many tests may add to it. */
const AT_ONCE_MS = 50
const SLOW_MACHINE_MS = 1_000

/** Where a request is, and what makes one stay there. */
const PHASES = {
  waiting: { tokens: 1000, tokenMs: 25, loadMs: 1, prefillMs: 1 },
  loading: { tokens: 10, tokenMs: 25, loadMs: 60_000, prefillMs: 1 },
  prefilling: { tokens: 10, tokenMs: 25, loadMs: 1, prefillMs: 60_000 },
  streaming: { tokens: 1000, tokenMs: 25, loadMs: 1, prefillMs: 1 },
} as const
type Phase = keyof typeof PHASES

const seenAs = (phase: Phase): string =>
  ({ waiting: 'waiting', loading: 'starting', prefilling: 'starting', streaming: 'streaming' })[
    phase
  ]

async function rigFor(phase: Phase): Promise<Rig> {
  return await startRig({
    workers: [{ models: [MODEL], slots: 1, ...PHASES[phase] }],
    workerConfig: { max_concurrent: 1 },
  })
}

interface Running {
  id: string
  leave: AbortController
  answer: Promise<{ status: number; text: string }>
}

/** A request of the dialect that has come as far as the phase. */
async function reach(rig: Rig, dialect: DialectCase, phase: Phase): Promise<Running> {
  const leave = new AbortController()
  const begun = rig.sims[0]?.record.requests({ path: dialect.path }).length ?? 0
  const known = new Set(rig.gateway.parts.active.list().map(({ id }) => id))
  const body = { ...dialect.body(MODEL), stream: true }
  const answer = rig
    .post(dialect.path, body, { signal: leave.signal })
    .then(async (response) => ({ status: response.status, text: await response.text() }))
  answer.catch(() => {}) // the one that leaves sees its own abort
  const found = await until(
    () => {
      const mine = rig.gateway.parts.active.list().find(({ id }) => !known.has(id))
      const sent = rig.sims[0]?.record.requests({ path: dialect.path }).length ?? 0
      const there = phase === 'waiting' || sent > begun
      return mine?.phase === seenAs(phase) && there ? mine : undefined
    },
    { what: `${dialect.name} is ${phase}` },
  )
  return { id: found.id, leave, answer }
}

async function occupy(rig: Rig, phase: Phase): Promise<AbortController | undefined> {
  if (phase !== 'waiting') return undefined
  const [native] = DIALECT_CASES
  assert.ok(native)
  return (await reach(rig, native, 'streaming')).leave
}

/** Milliseconds until what the request held is free. */
async function freeAfter(rig: Rig, begun: number, phase: Phase): Promise<number> {
  const { scheduler } = rig.gateway.parts
  await until(
    () =>
      phase === 'waiting' ? scheduler.waitingCount() === 0 : scheduler.inFlight('node-1') === 0,
    { intervalMs: 1, what: 'its slot or its place in line to be free' },
  )
  const ms = performance.now() - begun
  await until(() => rig.sims[0]?.record.concurrency().now === (phase === 'waiting' ? 1 : 0), {
    what: 'the worker to stop',
  })
  return ms
}

function assertAtOnce(times: readonly number[]): void {
  const best = Math.min(...times)
  assert.ok(best <= AT_ONCE_MS, `the quickest took ${best} ms`)
  assert.ok(Math.max(...times) <= SLOW_MACHINE_MS, times.join(' '))
}

function assertUnblamed(rig: Rig): void {
  const worker = rig.gateway.parts.fleet.worker('node-1')
  assert.equal(worker?.health.state, 'up')
  assert.equal(worker.breaker.phase, 'closed')
  assert.equal(worker.loadCoolDowns.size, 0)
}

suite('by its client', { concurrency: 2 }, () => {
  for (const phase of Object.keys(PHASES) as Phase[]) {
    test(phase, async () => {
      await using rig = await rigFor(phase)
      const blocker = await occupy(rig, phase)
      const times: number[] = []
      for (const dialect of DIALECT_CASES) {
        const running = await reach(rig, dialect, phase)
        const begun = performance.now()
        running.leave.abort()
        times.push(await freeAfter(rig, begun, phase))
      }
      assertAtOnce(times)
      assertUnblamed(rig)
      blocker?.abort()
    })
  }
})

suite('by an operator, who is named to the client', { concurrency: 2 }, () => {
  for (const phase of Object.keys(PHASES) as Phase[]) {
    test(phase, async () => {
      await using rig = await rigFor(phase)
      const blocker = await occupy(rig, phase)
      const times: number[] = []
      for (const dialect of DIALECT_CASES) {
        const { id, answer } = await reach(rig, dialect, phase)
        const begun = performance.now()
        assert.equal(rig.gateway.parts.active.cancel(id, 'root@test'), true)
        times.push(await freeAfter(rig, begun, phase))
        const { status, text } = await answer
        assert.match(text, /cancelled by an operator \(root@test\)/, dialect.name)
        if (phase === 'streaming') {
          assert.equal(status, 200)
          assert.match(text, dialect.broken)
        } else {
          assert.equal(status, 503)
          dialect.isError(text)
        }
      }
      assertAtOnce(times)
      assertUnblamed(rig)
      blocker?.abort()
    })
  }
})

// The whole answer is there and the operator was a moment late: one end, one slot given back.
test('a cancel that races completion', async () => {
  await using rig = await startRig({
    workers: [{ models: [MODEL], slots: 4, tokens: 2, tokenMs: 1, loadMs: 1, prefillMs: 1 }],
    workerConfig: { max_concurrent: 4 },
  })
  const { active, scheduler } = rig.gateway.parts
  let running = true
  const cancelling = (async (): Promise<void> => {
    for (let turn = 0; running; turn += 1) {
      const each = active.list()[turn % 3]
      if (each !== undefined && turn % 2 === 0) active.cancel(each.id, 'root@test')
      await new Promise((resolve) => setTimeout(resolve, turn % 5))
    }
  })()
  const ends = await Promise.all(
    Array.from({ length: 8 }, async (_, place) => {
      const dialect = DIALECT_CASES[place % DIALECT_CASES.length]
      assert.ok(dialect)
      const seen = { whole: 0, told: 0 }
      for (let round = 0; round < 25; round += 1) {
        const answer = await rig.post(dialect.path, { ...dialect.body(MODEL), stream: true })
        const text = await answer.text()
        if (answer.status === 200 && dialect.whole.test(text)) seen.whole += 1
        else {
          assert.match(text, /cancelled by an operator/, text)
          seen.told += 1
        }
        assert.ok(scheduler.inFlight('node-1') <= 4)
      }
      return seen
    }),
  )
  running = false
  await cancelling
  assert.ok(ends.some(({ whole }) => whole > 0) && ends.some(({ told }) => told > 0))
  assert.ok((rig.sims[0]?.record.concurrency().high ?? 9) <= 4)
})
