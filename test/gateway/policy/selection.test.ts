import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkerSlots } from '../../../src/gateway/admission/worker-slots.ts'
import { Config } from '../../../src/gateway/config/schema.ts'
import type { WorkerRecord } from '../../../src/gateway/fleet/worker-record.ts'
import type { Ask } from '../../../src/gateway/policy/ask.ts'
import { PASSED } from '../../../src/gateway/policy/eligibility.ts'
import type { Candidate } from '../../../src/gateway/policy/eligibility.ts'
import { modelFactsOf } from '../../../src/gateway/policy/model-facts.ts'
import { choose, judge } from '../../../src/gateway/policy/selection.ts'
import type { Field, SelectionRules } from '../../../src/gateway/policy/selection.ts'
import { askOf, recordOf, setLoaded } from '../../support/fake-fleet.ts'
import { loadedModel, noTelemetry } from '../../support/worker-records.ts'

function fieldOf(candidates: readonly Candidate[], model: Ask['model']): Field {
  return { candidates, facts: candidates.map(({ worker }) => modelFactsOf(worker, model)) }
}

const { routing, model_capabilities } = Config.parse({})
const rules: SelectionRules = {
  now: 0,
  capabilities: model_capabilities,
  numCtxPolicy: 'client',
  routing,
  affineTo: undefined,
}

interface Setup {
  worker?: (record: WorkerRecord) => void
  slots?: (slots: WorkerSlots) => void
}

function candidates(setups: readonly Setup[]) {
  return setups.map(({ worker, slots }, index) => {
    const one = {
      worker: recordOf({ name: `w${index}`, installed: ['m:1'] }, index),
      slots: new WorkerSlots(),
    }
    worker?.(one.worker)
    slots?.(one.slots)
    return one
  })
}

const loaded = (record: WorkerRecord): void => setLoaded(record, ['m:1'], 0)
const loadedWith = (contextLength: number) => (record: WorkerRecord) => {
  const models = new Map([['m:1', loadedModel('m:1', { contextLength })]])
  record.loaded = { state: 'known', models, readAt: 0, error: undefined }
}
const rated = (outputPerS: number) => (record: WorkerRecord) => {
  record.rates = new Map([
    ['m:1', { promptPerS: 1, promptSamples: 1, outputPerS, outputSamples: 1, updatedAt: 0 }],
  ])
}
const vram = (used: number) => (record: WorkerRecord) => {
  record.telemetry = {
    ...noTelemetry,
    vramUsedBytes: used,
    vramTotalBytes: 100,
    gpuUtilization: undefined,
  }
}
const gpu = (gpuUtilization: number) => (record: WorkerRecord) => {
  record.telemetry = {
    ...noTelemetry,
    vramUsedBytes: undefined,
    vramTotalBytes: undefined,
    gpuUtilization,
  }
}
const unknownInventory = (record: WorkerRecord): void => {
  record.inventory = { state: 'unknown', error: undefined }
}
const running =
  (count: number, model = 'other:1') =>
  (slots: WorkerSlots) => {
    for (let i = 0; i < count; i += 1) slots.take(model, 0)
  }

// One line per term: of two workers the second must win, and would not without that term.
const wins: [
  name: string,
  first: Setup,
  second: Setup,
  rules?: Partial<SelectionRules>,
  ask?: Partial<Ask>,
][] = [
  ['the loaded one', {}, { worker: loaded }],
  ['loaded beats three in flight', {}, { worker: loaded, slots: running(3) }],
  ['fewer in flight', { slots: running(2) }, { slots: running(1) }],
  ['fewer of the model in flight', { slots: running(1, 'm:1') }, { slots: running(1) }],
  ['the faster one', { worker: rated(20) }, { worker: rated(40) }],
  ['the one whose speed is known', {}, { worker: rated(5) }],
  ['the affine one', {}, {}, { affineTo: 'w1' }],
  ['less memory in use', { worker: vram(90) }, { worker: vram(10) }],
  ['unknown memory adds nothing', { worker: vram(10) }, {}],
  ['the idler GPU', { worker: gpu(0.9) }, { worker: gpu(0.1) }],
  [
    'no load where memory is full, whatever else speaks for it',
    { worker: (w) => (vram(97)(w), rated(500)(w)) },
    { slots: running(3) },
    { affineTo: 'w0' },
  ],
  [
    'full memory does not matter where it is loaded',
    {},
    { worker: (w) => (loaded(w), vram(99)(w)) },
  ],
  [
    'num_ctx as loaded',
    { worker: loadedWith(8192) },
    { worker: loadedWith(4096) },
    {},
    { numCtx: 4096 },
  ],
  [
    'a larger num_ctx loses the loaded bonus',
    { worker: loadedWith(2048), slots: running(1) },
    {},
    {},
    { numCtx: 4096 },
  ],
  ['granted longer ago', { slots: (s) => (s.lastGrant = 9) }, { slots: (s) => (s.lastGrant = 3) }],
]

for (const [name, first, second, changes, ask] of wins) {
  test(`selection: ${name}`, () => {
    const wanted = askOf('m:1', ask)
    const all = candidates([first, second])
    const { index } = choose(fieldOf(all, wanted.model), wanted, { ...rules, ...changes })
    assert.equal(index, 1)
  })
}

// B116: who wants a context goes where it is loaded so; who wants none, where none was asked for.
test('three clients with three contexts do not make two workers reload', () => {
  const all = candidates([{ worker: loadedWith(32_768) }, { worker: loadedWith(4096) }])
  all[0]?.slots.loadedBy.set('m:1', 32_768)
  const where = (numCtx: number | undefined): number => {
    const ask = askOf('m:1', { numCtx })
    return choose(fieldOf(all, ask.model), ask, {
      ...rules,
      capabilities: { ...rules.capabilities, context_guard: 'off' },
    }).index
  }
  assert.deepEqual([where(32_768), where(4096), where(undefined)], [0, 1, 1])
})

test('unknown inventories are candidates only where nobody has a known copy', () => {
  const ask = askOf('m:1')
  const all = candidates([{ worker: unknownInventory }, { slots: (s) => (s.inFlight = 4) }])
  const full = choose(fieldOf(all, ask.model), ask, rules)
  assert.equal(full.index, -1)
  assert.equal(full.knownOnly, true)
  const second = all[1]
  assert.ok(second !== undefined)
  second.worker.health = { state: 'down', sinceMono: 0, sinceWall: 0, error: 'gone' }
  assert.equal(choose(fieldOf(all, ask.model), ask, rules).index, 0)
})

test('what is explained adds up to what decided', () => {
  let seed = 3
  const random = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed / 2_147_483_648
  }
  for (let round = 0; round < 200; round += 1) {
    const all = candidates(
      Array.from({ length: 5 }, () => ({
        worker: (w: WorkerRecord) => {
          if (random() < 0.4) loaded(w)
          if (random() < 0.5) rated(1 + random() * 90)(w)
          if (random() < 0.5) vram(random() * 100)(w)
          if (random() < 0.1) unknownInventory(w)
        },
        slots: (s: WorkerSlots) => {
          running(Math.floor(random() * 5))(s)
          if (random() < 0.3) s.take('m:1', 0)
        },
      })),
    )
    const ask = askOf('m:1')
    const field = fieldOf(all, ask.model)
    const choice = choose(field, ask, { ...rules, affineTo: 'w2' })
    const judged = judge({ ...field, choice, ask, rules: { ...rules, affineTo: 'w2' } })
    const scores = judged.map(({ score }) => score ?? Number.NEGATIVE_INFINITY)
    if (choice.index >= 0) assert.equal(scores[choice.index], Math.max(...scores))
    for (const [i, { terms, score, stoppedBy }] of judged.entries()) {
      assert.equal(stoppedBy === undefined, choice.gates[i] === PASSED)
      const sum = terms.reduce((all, { points }) => all + points, 0)
      assert.ok(Math.abs(sum - (score ?? 0)) < 1e-9)
    }
  }
})
