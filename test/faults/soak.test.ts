// A random run with a fixed seed: requests in every dialect, clients that leave, faults that come
// and go on every worker. Whatever happened, at the end nothing is left, and no worker was ever
// sent more than its slots.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Fault } from '../../src/cli/simulator/worker.ts'
import { DIALECT_CASES } from '../support/dialect-cases.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const FULL = process.env['OGW_FAULTS'] === 'full'
const REQUESTS = FULL ? 100_000 : 1_000
/** The run ends by itself whatever happens. */
const MOST_MS = FULL ? 600_000 : 60_000
const CLIENTS = 40
const SLOTS = 4
const MODELS = ['a:1b', 'b:1b', 'c:1b']
const SEED = 20_261_130

const FAULTS: readonly Fault[] = [
  { kind: 'refuse', ms: 300 },
  { kind: 'reset', on: 'request', times: 3 },
  { kind: 'cut', after: 2, how: 'rst', times: 4, path: '/api/chat' },
  { kind: 'cut', after: 1, how: 'fin', times: 4, path: '/v1/*' },
  { kind: 'slow_headers', ms: 400, times: 5, path: '/v1/*' },
  {
    kind: 'status',
    status: 503,
    body: '{"error":"server busy, please try again.  maximum pending requests exceeded"}',
    times: 5,
    path: '/api/*',
  },
  {
    kind: 'status',
    status: 500,
    body: '{"error":"llama runner process has terminated"}',
    times: 1,
    path: '/v1/messages',
    model: 'a:1b',
  },
  { kind: 'no_terminator', times: 4, path: '/v1/*' },
  { kind: 'stream_error', after: 1, times: 4, path: '/api/*' },
  { kind: 'empty', times: 3, path: '/api/chat' },
  { kind: 'silent_after_headers', times: 2, path: '/api/generate' },
]

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

/** What is still held: gateway, workers and clients of the run are one process here. */
function heapAfterGc(): number {
  if (typeof collect === 'function') collect()
  return process.memoryUsage().heapUsed
}

type Random = (below: number) => number

function seeded(seed: number): Random {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

interface Tally {
  whole: number
  told: number
  refused: number
  left: number
  /** Neither whole nor told: a client that cannot know what it got. */
  unexplained: string[]
}

async function oneRequest(rig: Rig, random: Random, tally: Tally): Promise<void> {
  const dialect = DIALECT_CASES[random(DIALECT_CASES.length)]
  const model = MODELS[random(MODELS.length)] ?? ''
  assert.ok(dialect)
  const stream = random(2) === 0
  const leave = new AbortController()
  const leaves = random(6) === 0
  const timer = leaves ? setTimeout(() => leave.abort(), random(60)) : undefined
  try {
    const body = { ...dialect.body(model), stream, user: `user-${random(7)}` }
    const answer = await rig.post(dialect.path, body, { signal: leave.signal })
    const text = await answer.text()
    if (answer.status !== 200) {
      tally.refused += 1
      // As clients do that are told to come back later.
      await new Promise((resolve) => setTimeout(resolve, 100 + random(200)))
    }
    if (answer.status !== 200) return
    if (stream ? dialect.whole.test(text) : /^\{.*\}\s*$/s.test(text)) tally.whole += 1
    else if (dialect.broken.test(text) || /"error"/.test(text)) tally.told += 1
    else tally.unexplained.push(`${dialect.name} ${stream}: ${text.slice(-200)}`)
  } catch (error) {
    if (!leave.signal.aborted) tally.unexplained.push(`${dialect.name} ${stream}: ${String(error)}`)
    tally.left += 1
  } finally {
    clearTimeout(timer)
  }
}

async function flipFaults(rig: Rig, random: Random, running: () => boolean): Promise<void> {
  while (running()) {
    const sim = rig.sims[random(rig.sims.length)]
    const fault = FAULTS[random(FAULTS.length)]
    if (sim !== undefined && fault !== undefined) await sim.faults.add(fault)
    await new Promise((resolve) => setTimeout(resolve, 60 + random(200)))
    if (random(4) === 0) await sim?.faults.clear()
  }
}

test(
  `a soak of ${REQUESTS} requests leaves nothing behind`,
  { timeout: MOST_MS + 60_000 },
  async () => {
    const random = seeded(SEED)
    const worker = { models: MODELS, maxLoaded: 3, slots: SLOTS, tokens: 5, tokenMs: 1, loadMs: 5 }
    const tally: Tally = { whole: 0, told: 0, refused: 0, left: 0, unexplained: [] }
    await using rig = await startRig({
      workers: [worker, worker, worker],
      workerConfig: { max_concurrent: SLOTS, model_concurrency: { 'c:1b': 2 } },
      config: {
        log: { level: 'info' },
        upstream: { breaker: { failures: 8, open: '1s', max_open: '2s' } },
      },
    })
    let settled = 0
    const begun = performance.now()
    let sent = 0
    const running = (): boolean => sent < REQUESTS && performance.now() - begun < MOST_MS
    const flipping = flipFaults(rig, seeded(SEED + 1), running)
    const client = async (): Promise<void> => {
      while (running()) {
        sent += 1
        if (sent === Math.floor(REQUESTS / 4)) settled = heapAfterGc()
        await oneRequest(rig, random, tally)
        rig.log.length = 0 // the log of a hundred thousand requests is not what is measured
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
    await flipping
    await Promise.all(rig.sims.map((sim) => sim.faults.clear()))
    await rig.quiet()

    const { scheduler, active, fleet } = rig.gateway.parts
    assert.deepEqual(tally.unexplained, [])
    assert.equal(active.size, 0)
    assert.equal(scheduler.waitingCount(), 0)
    for (const { name } of fleet.workers()) {
      assert.equal(scheduler.inFlight(name), 0)
      for (const model of MODELS) assert.equal(scheduler.modelInFlight(name, model), 0)
    }
    for (const sim of rig.sims) {
      const { high, models } = sim.record.concurrency()
      assert.ok(high <= SLOTS, `${high} at once on ${SLOTS} slots`)
      assert.ok((models['c:1b']?.high ?? 0) <= 2)
    }
    await until(() => fleet.workers().every(({ health }) => health.state === 'up'), {
      timeoutMs: 10_000,
      what: 'every worker is up again',
    })
    const grownMiB = (heapAfterGc() - settled) / 2 ** 20
    const seconds = (performance.now() - begun) / 1000
    console.log(
      `soak: ${sent} requests in ${seconds.toFixed(0)} s, ${tally.whole} whole, ${tally.told} told in band, ${tally.refused} refused, ${tally.left} left, ${grownMiB.toFixed(0)} MiB grown after the first quarter, seed ${SEED}`,
    )
    assert.ok(tally.whole > sent / 3, 'most were served')
    assert.ok(grownMiB < 100, `flat memory, not ${grownMiB} MiB more`)
  },
)
