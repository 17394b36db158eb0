// A random run with a fixed seed: requests in every dialect, tenants that take slots from the queue
// directly, clients that leave, faults that come and go on every worker. Whatever happened, at the
// end nothing is left, and no worker was ever sent more than its slots.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Fault } from '../../src/cli/simulator/worker.ts'
import { GatewayError } from '../../src/gateway/errors.ts'
import type { Ask } from '../../src/gateway/policy/ask.ts'
import { parseModelName } from '../../src/gateway/policy/model-name.ts'
import type { ModelName } from '../../src/gateway/policy/model-name.ts'
import { DIALECT_CASES } from '../support/dialect-cases.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const FULL = process.env['OGW_FAULTS'] === 'full'
const REQUESTS = FULL ? 100_000 : 2_000
/** The run ends by itself whatever happens. */
const MOST_MS = FULL ? 1_200_000 : 60_000
const CLIENTS = 40
/** Requests between two faults that come or go. */
const FLIP_EACH = 25
/** Each takes slots past the HTTP side, as requests of a tenant with a key would. */
const TENANTS = ['red', 'green', 'blue']
/** After this share of the run buffers and compiled code have their size. */
const WARM = 0.25
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
    path: '/api/chat',
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
  { kind: 'stream_error', after: 1, times: 4, path: '/api/chat' },
  { kind: 'empty', times: 3, path: '/api/chat' },
  { kind: 'silent_after_headers', times: 2, path: '/api/generate' },
]

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
    } else if (stream ? dialect.whole.test(text) : /^\{.*\}\s*$/s.test(text)) tally.whole += 1
    else if (dialect.broken.test(text) || /"error"/.test(text)) tally.told += 1
    else tally.unexplained.push(`${dialect.name} ${stream}: ${text.slice(-200)}`)
  } catch (error) {
    if (!leave.signal.aborted) tally.unexplained.push(`${dialect.name} ${stream}: ${String(error)}`)
    tally.left += 1
  } finally {
    clearTimeout(timer)
  }
}

/** A tenant that waits in the same queue; what it gets it holds for a moment and gives back. */
async function oneTenant(rig: Rig, tenant: string, tools: { random: Random; running(): boolean }) {
  const { scheduler } = rig.gateway.parts
  const { random, running } = tools
  let granted = 0
  for (let turn = 0; running(); turn += 1) {
    const model = MODELS[random(MODELS.length)] ?? ''
    const leave = new AbortController()
    const timer = setTimeout(() => leave.abort(), random(8) === 0 ? random(20) : 5_000)
    try {
      using lease = await scheduler.request(askOf(tenant, model, turn), leave.signal)
      await new Promise((resolve) => setTimeout(resolve, random(15)))
      granted += lease.worker === '' ? 0 : 1
    } catch (error) {
      const expected = leave.signal.aborted || error instanceof GatewayError
      if (!expected) throw error
      await new Promise((resolve) => setTimeout(resolve, 5))
    } finally {
      clearTimeout(timer)
    }
  }
  return granted
}

function askOf(tenant: string, model: string, turn: number): Ask {
  const now = performance.now()
  return {
    requestId: `${tenant}-${turn}`,
    model: nameOf(model),
    needs: ['completion'],
    contextTokens: undefined,
    numCtx: undefined,
    cost: 50,
    tenant,
    actor: tenant,
    priority: tenant === 'blue' ? 'background' : 'interactive',
    affinity: undefined,
    keepsAlive: false,
    waitUntil: now + 20_000,
    enteredAt: now,
    failed: new Map(),
  }
}

/** One worker is never gone altogether: refusals of a fleet that is down would be all there is. */
async function flipFault(rig: Rig, random: Random): Promise<void> {
  const sim = rig.sims[random(rig.sims.length)]
  const fault = FAULTS[random(FAULTS.length)]
  const wanted = fault?.path !== undefined || sim !== rig.sims.at(-1)
  if (random(4) === 0) await sim?.faults.clear()
  if (sim !== undefined && fault !== undefined && wanted) await sim.faults.add(fault)
}

function nameOf(model: string): ModelName {
  const parsed = parseModelName(model)
  assert.ok(parsed.ok)
  return parsed.name
}

/** What keeps the process alive, counted by kind. */
function resources(): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

const collect = (): void => {
  setFlagsFromString('--expose-gc')
  const gc: unknown = runInNewContext('gc')
  if (typeof gc === 'function') gc()
}

/** Without what the simulated workers, in this same process, have kept of up to 5,000 requests each. */
function heapMiB(rig: Rig, peaks: Peaks): number {
  for (const sim of rig.sims) {
    const { high, models } = sim.record.concurrency()
    peaks.all = Math.max(peaks.all, high)
    peaks.limited = Math.max(peaks.limited, models['c:1b']?.high ?? 0)
    sim.record.reset()
  }
  collect()
  return process.memoryUsage().heapUsed / 2 ** 20
}

/** The most requests at once that a worker saw, and of the model with a limit of its own. */
interface Peaks {
  all: number
  limited: number
}

interface Run {
  tally: Tally
  sent: number
  granted: number
  seconds: number
  warmHeapMiB: number
}

async function soak(rig: Rig, peaks: Peaks): Promise<Run> {
  const random = seeded(SEED)
  const tally: Tally = { whole: 0, told: 0, refused: 0, left: 0, unexplained: [] }
  const begun = performance.now()
  let sent = 0
  let warmHeapMiB = 0
  const running = (): boolean => sent < REQUESTS && performance.now() - begun < MOST_MS
  const flips = seeded(SEED + 1)
  const tenants = TENANTS.map((tenant, place) =>
    oneTenant(rig, tenant, { random: seeded(SEED + 2 + place), running }),
  )
  const client = async (): Promise<void> => {
    while (running()) {
      sent += 1
      if (sent === REQUESTS * WARM) warmHeapMiB = heapMiB(rig, peaks)
      if (sent % FLIP_EACH === 0) await flipFault(rig, flips)
      await oneRequest(rig, random, tally)
      // The log of a hundred thousand requests is not what is measured.
      rig.log.splice(0, rig.log.length, ...rig.log.filter(({ event }) => event === 'request.bug'))
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  const granted = (await Promise.all(tenants)).reduce((sum, each) => sum + each, 0)
  const seconds = (performance.now() - begun) / 1000
  await Promise.all(rig.sims.map((sim) => sim.faults.clear()))
  await rig.quiet()
  return { tally, sent, granted, seconds, warmHeapMiB }
}

function assertNothingLeft(rig: Rig): void {
  const { scheduler, active, fleet } = rig.gateway.parts
  assert.equal(active.size, 0)
  assert.equal(scheduler.waitingCount(), 0)
  for (const { name } of fleet.workers()) {
    assert.equal(scheduler.inFlight(name), 0)
    for (const model of MODELS) assert.equal(scheduler.modelInFlight(name, model), 0)
  }
}

async function runOne(): Promise<void> {
  const worker = { models: MODELS, maxLoaded: 3, slots: SLOTS, tokens: 5, tokenMs: 1, loadMs: 5 }
  await using rig = await startRig({
    workers: [worker, worker, worker],
    workerConfig: {
      max_concurrent: SLOTS,
      model_concurrency: { 'c:1b': 2 },
      // This process is busy with all of it: a probe is not late because a worker is gone.
      probe: { interval: '1s', timeout: '2s' },
    },
    config: {
      log: { level: 'info' },
      upstream: {
        // One fault is silence of a worker whose probe answers: only this bound ends it.
        first_byte_timeout: '1s',
        breaker: { failures: 20, open: '1s', max_open: '2s' },
      },
    },
  })
  const peaks = { all: 0, limited: 0 }
  const { tally, sent, granted, seconds, warmHeapMiB } = await soak(rig, peaks)
  assert.deepEqual(tally.unexplained, [])
  assertNothingLeft(rig)
  const { fleet } = rig.gateway.parts
  await until(() => fleet.workers().every(({ health }) => health.state === 'up'), {
    timeoutMs: 10_000,
    what: 'every worker is up again',
  })
  for (const sim of rig.sims) {
    await until(() => sim.record.concurrency().now === 0, { what: 'no request at a worker' })
  }
  const grownMiB = heapMiB(rig, peaks) - warmHeapMiB
  console.log(
    `soak: ${sent} requests in ${seconds.toFixed(0)} s, ${tally.whole} whole, ${tally.told} told in band, ${tally.refused} refused, ${tally.left} left; ${granted} leases of tenants; peak ${peaks.all} of ${SLOTS} slots; heap ${grownMiB.toFixed(1)} MiB more than after the first quarter; seed ${SEED}`,
  )
  assert.ok(peaks.all <= SLOTS, `${peaks.all} at once on ${SLOTS} slots`)
  assert.ok(peaks.limited <= 2, `${peaks.limited} at once of a model that may have 2`)
  assert.ok(tally.whole > sent / 3 && granted > 0, 'most were served, and tenants too')
  if (FULL) {
    assert.ok(sent >= REQUESTS, `${MOST_MS / 1000} s were over before ${REQUESTS} requests`)
    assert.ok(grownMiB < 10, 'flat memory')
  }
}

test(
  `a soak of ${REQUESTS} requests leaves nothing behind`,
  { timeout: MOST_MS + 60_000 },
  async () => {
    const before = resources()
    await runOne()
    // Sockets of this file's own client end with the gateway's side of them.
    await until(
      () => {
        const after = resources()
        for (const kind of Object.keys(after)) {
          assert.ok((after[kind] ?? 0) <= (before[kind] ?? 0), `${kind}: ${JSON.stringify(after)}`)
        }
        return true
      },
      { timeoutMs: 10_000, intervalMs: 50, what: 'every socket and timer of the gateway to end' },
    )
  },
)
