import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelKnowledge } from '../../../src/gateway/proxy/model-knowledge.ts'
import { startFleetRig } from '../fleet/fleet-rig.ts'
import { startSimulatedWorker } from '../../../src/cli/simulator/worker.ts'
import { manualClock } from '../../support/manual-clock.ts'
import type { ManualClock } from '../../support/manual-clock.ts'
import { until } from '../../support/until.ts'

const MODEL = 'qwen3:8b'
const staying = () => new AbortController().signal

interface Rig {
  knowledge: ModelKnowledge
  clock: ManualClock
  /** One for each worker that was asked, in order. */
  asked: PromiseWithResolvers<void>[]
}

/** A fleet whose workers all have the model; what they are asked is answered by hand. */
async function withKnowledge(action: (rig: Rig) => Promise<void>): Promise<void> {
  await using sim = await startSimulatedWorker({ models: [MODEL] })
  const workers = Array.from({ length: 3 }, (_, index) => ({ name: `w${index}`, urls: [sim.url] }))
  await using rig = startFleetRig(workers)
  await until(() => rig.fleet.workers().every(({ inventory }) => inventory.state === 'known'))
  const clock = manualClock()
  const asked: PromiseWithResolvers<void>[] = []
  const ensure = (): Promise<void> => {
    const answer = Promise.withResolvers<void>()
    asked.push(answer)
    return answer.promise
  }
  const knowledge = new ModelKnowledge({ clock, workers: () => rig.fleet.workers(), ensure })
  await action({ knowledge, clock, asked })
}

async function isSettled(promise: Promise<unknown> | undefined): Promise<boolean> {
  return (
    (await Promise.race([promise, new Promise((resolve) => setImmediate(resolve, WAITS))])) !==
    WAITS
  )
}
const WAITS = Symbol('waits')

// With 200 workers and a thousand clients at the start, a wait of each for each is what takes long.
test('the first requests for a model share one wait for its workers', async () => {
  await withKnowledge(async ({ knowledge, asked }) => {
    const waits = Array.from({ length: 50 }, () => knowledge.ready(MODEL, staying()))
    assert.equal(asked.length, 3)
    assert.ok(waits.every((wait) => wait !== undefined))
    for (const { resolve } of asked.slice(0, 2)) resolve()
    assert.equal(await isSettled(waits[0]), false)
    asked[2]?.resolve()
    await Promise.all(waits)
    assert.equal(knowledge.ready(MODEL, staying()), undefined)
  })
})

test('one that leaves waits no longer, and the others do', async () => {
  await withKnowledge(async ({ knowledge, asked }) => {
    const leaving = new AbortController()
    const left = knowledge.ready(MODEL, leaving.signal)
    const stays = knowledge.ready(MODEL, staying())
    leaving.abort()
    await left
    assert.equal(await isSettled(stays), false)
    await knowledge.ready(MODEL, leaving.signal)
    for (const { resolve } of asked) resolve()
    await stays
    assert.equal(asked.length, 3)
  })
})

test('a worker that does not answer holds nobody for more than a second, and once', async () => {
  await withKnowledge(async ({ knowledge, clock, asked }) => {
    const wait = knowledge.ready(MODEL, staying())
    clock.advance(999)
    assert.equal(await isSettled(wait), false)
    clock.advance(1)
    await wait
    clock.advance(1_000)
    assert.equal(knowledge.ready(MODEL, staying()), undefined)
    assert.equal(asked.length, 6, 'it is looked after, and nobody waits')
  })
})
