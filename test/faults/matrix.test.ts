// Every fault, at each position, in every dialect, streamed or not: with a twin that has the model
// and without one. The table of what must be seen is test/support/fault-table.ts.

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { DIALECT_CASES } from '../support/dialect-cases.ts'
import type { DialectCase } from '../support/dialect-cases.ts'
import { FAULT_TABLE } from '../support/fault-table.ts'
import type { FaultRow, Seen } from '../support/fault-table.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const FULL = process.env['OGW_FAULTS'] === 'full'
const dialects = FULL ? DIALECT_CASES : DIALECT_CASES.slice(0, 4)

interface Trial {
  row: FaultRow
  dialect: DialectCase
  streamed: boolean
}

/** A model of its own, so that one trial's cool-down is not the next one's. */
const modelOf = ({ dialect, streamed }: Trial): string =>
  `${dialect.name.toLowerCase().replaceAll(' ', '-')}-${streamed ? 'stream' : 'whole'}:1b`

function trialsOf(row: FaultRow): Trial[] {
  const all = dialects.flatMap((dialect) => [
    { row, dialect, streamed: true },
    { row, dialect, streamed: false },
  ])
  if (FULL) return all
  // Each of these waits for a bound to pass; a few of them show it.
  if (row.within === '5 s' || row.name.startsWith('busy')) return all.slice(0, 1)
  return row.within.includes('grace') ? all.slice(0, 3) : all
}

describe('every fault in every dialect', { concurrency: 4 }, () => {
  for (const row of FAULT_TABLE) {
    test(`${row.name} (${row.position})`, async () => {
      const trials = trialsOf(row)
      const models = trials.map(modelOf)
      const worker = { models, maxLoaded: 100, slots: 2, tokens: 6, tokenMs: 1 }
      await using rig = await startRig({ workers: [worker, worker] })
      for (const trial of trials) await withTwin(rig, trial)
      for (const trial of trials) await alone(rig, trial)
    })
  }
})

/** The faulty worker is the one that has the model loaded, so that it is asked first. */
async function withTwin(rig: Rig, trial: Trial): Promise<void> {
  const { row, dialect, streamed } = trial
  const [faulty, twin] = rig.sims
  assert.ok(faulty && twin)
  await preload(rig, modelOf(trial))
  const answer = await strike(rig, trial)
  const where = `${row.name}, ${dialect.name}, ${streamed ? 'streamed' : 'whole'}: ${answer.text.slice(-300)}`
  const seen: Seen = streamed ? row.streamed : row.whole
  const begun = faulty.record.requests({ path: dialect.path }).length
  assert.ok(begun <= 1, `never sent twice to one worker: ${where}`)
  const asked = twin.record.requests({ path: dialect.path }).length
  switch (seen) {
    case 'twin':
      assert.equal(answer.status, 200, where)
      assert.equal(answer.worker, 'node-2', where)
      assert.match(answer.text, streamed ? dialect.whole : /^\{.*\}\s*$/s, where)
      assert.equal(asked, 1, where)
      break
    case 'waits':
      assert.equal(answer.status, 200, where)
      assert.equal(answer.worker, 'node-1', where)
      assert.equal(asked, 0, `a busy worker is not replaced: ${where}`)
      break
    case 'in-band error':
      assert.equal(answer.status, 200, where)
      assert.match(answer.text, dialect.broken, where)
      assert.equal(asked, 0, `a begun generation is never replayed: ${where}`)
      break
    case 'error answer':
      assert.ok(answer.status >= 400, where)
      if (answer.status >= 500) dialect.isError(answer.text)
      assert.equal(asked, 0, where)
      break
  }
  await recover(rig)
  if (seen === 'waits') assertUnblamed(rig, modelOf(trial))
}

/** Nobody else may be asked: the client gets an error of its dialect, or what the worker says. */
async function alone(rig: Rig, trial: Trial): Promise<void> {
  const { row, dialect, streamed } = trial
  if (row.alone === undefined || (streamed && row.streamed === 'in-band error')) return
  rig.gateway.parts.fleet.apply({ type: 'draining', worker: 'node-2', draining: true })
  const answer = await strike(rig, trial)
  rig.gateway.parts.fleet.apply({ type: 'draining', worker: 'node-2', draining: false })
  const where = `${row.name} alone, ${dialect.name}, ${streamed}: ${answer.text}`
  // After its twin trial the model may be resting on that worker, or the worker known to be gone.
  assert.ok([row.alone, 503].includes(answer.status), `${answer.status} ${where}`)
  if (answer.status === 200) return await recover(rig)
  const passed = row.fault.kind === 'status' && answer.status === row.fault.status
  if (!passed) dialect.isError(answer.text)
  assert.equal(rig.sims[1]?.record.requests({ path: dialect.path }).length, 0, where)
  await recover(rig)
}

/** Row → dialect → the longest that a client had to wait to know. */
const waits = new Map<string, Map<string, number>>()

function note({ name }: FaultRow, dialect: DialectCase, ms: number): void {
  const row = waits.get(name) ?? new Map<string, number>()
  waits.set(name, row.set(dialect.name, Math.max(Math.round(ms), row.get(dialect.name) ?? 0)))
}

after(() => {
  if (!FULL) return
  console.log('milliseconds until the client knew, at most, with rig limits of 300 ms each:')
  for (const [name, row] of waits) {
    console.log(`${name}: ${[...row].map(([dialect, ms]) => `${dialect} ${ms}`).join(', ')}`)
  }
})

interface Answer {
  status: number
  worker: string | null
  text: string
}

async function strike(rig: Rig, { row, dialect, streamed }: Trial): Promise<Answer> {
  const model = modelOf({ row, dialect, streamed })
  for (const sim of rig.sims) sim.record.reset()
  const fault = row.fault.path === 'inference' ? { ...row.fault, path: dialect.path } : row.fault
  await rig.sims[0]?.faults.add(fault)
  if (row.and !== undefined) await rig.sims[0]?.faults.add(row.and)
  const begun = performance.now()
  const answer = await rig.post(dialect.path, { ...dialect.body(model), stream: streamed })
  const text = await answer.text()
  note(row, dialect, performance.now() - begun)
  return { status: answer.status, worker: answer.headers.get('x-ogw-worker'), text }
}

async function preload(rig: Rig, model: string): Promise<void> {
  const [first] = rig.sims
  await fetch(`${first?.url}/api/generate`, { method: 'POST', body: JSON.stringify({ model }) })
  await rig.gateway.parts.inventory.readNow('node-1')
}

/** The fault is gone: within an interval the worker is back, and nothing of the trial is left. */
async function recover(rig: Rig): Promise<void> {
  await rig.quiet()
  await Promise.all(rig.sims.map((sim) => sim.faults.clear()))
  const { prober, inventory, fleet } = rig.gateway.parts
  await prober.probeNow('node-1')
  await inventory.readNow('node-1')
  await until(() => fleet.worker('node-1')?.health.state === 'up', {
    timeoutMs: 10_000,
    what: 'node-1 is back',
  })
}

function assertUnblamed(rig: Rig, model: string): void {
  const worker = rig.gateway.parts.fleet.worker('node-1')
  assert.equal(worker?.breaker.phase, 'closed')
  assert.equal(worker?.loadCoolDowns.has(model), false)
  assert.equal(
    rig.log.find(({ event }) => event === 'worker.down'),
    undefined,
  )
}
