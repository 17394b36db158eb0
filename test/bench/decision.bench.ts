// Cost of one decision over a large fleet: 200 workers, 2,000 models installed on each, 2,000
// placement rules each. Bound: 50 µs (product.md §15).

import { Config } from '../../src/gateway/config/schema.ts'
import type { Installed } from '../../src/gateway/fleet/worker.ts'
import { FactTable } from '../../src/gateway/admission/fact-table.ts'
import type { Row } from '../../src/gateway/admission/fleet-rows.ts'
import { WorkerSlots } from '../../src/gateway/admission/worker-slots.ts'
import type { Ask } from '../../src/gateway/policy/ask.ts'
import { compilePlacement } from '../../src/gateway/policy/placement.ts'
import { choose, judge } from '../../src/gateway/policy/selection.ts'
import type { Choice, SelectionRules } from '../../src/gateway/policy/selection.ts'
import { askOf, recordOf, setLoaded } from '../support/fake-fleet.ts'
import { installed, noTelemetry } from '../support/worker-records.ts'
import type { BenchRow } from './bench.ts'

const WORKERS = 200
const MODELS = 2_000
const RULES = 2_000
const DECISIONS = 20_000
const LIMIT_US = 50

export async function run(): Promise<BenchRow[]> {
  const rows = largeFleet()
  const asks = Array.from({ length: MODELS }, (_, i) => askOf(`family${i % 40}:size${i}`))
  const { routing, model_capabilities, num_ctx } = Config.parse({})
  const rules: SelectionRules = {
    now: 0,
    capabilities: model_capabilities,
    numCtxPolicy: num_ctx.policy,
    routing,
    affineTo: undefined,
  }
  const needy = asks.map((ask): Ask => ({ ...ask, needs: ['tools'], contextTokens: 3_000 }))
  const table = new FactTable()
  const decide = (ask: Ask): Choice =>
    choose({ candidates: rows, facts: table.factsOf(rows, ask.model) }, ask, rules)
  return [
    row('decision', () => measure(asks, (ask) => decide(ask).index)),
    row('decision with capability and context gates', () =>
      measure(needy, (ask) => decide(ask).index),
    ),
    row('decision that is kept, in words', () =>
      measure(asks, (ask) => {
        const facts = table.factsOf(rows, ask.model)
        return judge({ candidates: rows, facts, choice: decide(ask), ask, rules }, 16).length
      }),
    ),
  ]
}

function row(name: string, run: () => number): BenchRow {
  run()
  const note = `${WORKERS} workers × ${MODELS} models × ${RULES} rules, bound ${LIMIT_US} µs`
  return { name, value: run(), unit: 'µs', note }
}

/** CPU microseconds a decision, over all models in turn. */
function measure(asks: readonly Ask[], decide: (ask: Ask) => number): number {
  let sum = 0
  const before = process.cpuUsage()
  for (let i = 0; i < DECISIONS; i += 1) {
    const ask = asks[(i * 7) % asks.length]
    if (ask !== undefined) sum += decide(ask)
  }
  const { user, system } = process.cpuUsage(before)
  if (sum < 0) throw new Error('no worker was chosen')
  return (user + system) / DECISIONS
}

/** Records are shared between workers, as the fleet shares them; rules differ by worker. */
function largeFleet(): Row[] {
  const models: Installed[] = Array.from({ length: MODELS }, (_, i) =>
    installed(`family${i % 40}:size${i}`),
  )
  return Array.from({ length: WORKERS }, (_, index) => {
    const worker = recordOf({ name: `worker-${index}` }, index)
    const byKey = new Map(models.map((one) => [one.model.key, one]))
    worker.inventory = { state: 'known', models: byKey, readAt: 0, error: undefined }
    setLoaded(worker, [`family1:size${1 + 40 * (index % 50)}`, 'family2:size2'], 0)
    worker.placement = compilePlacement({
      mode: 'allow_all',
      allowed_models: Array.from({ length: RULES / 2 }, (_, i) => `other${i}-${index}:x`),
      denied_models: Array.from({ length: RULES / 2 }, (_, i) => `denied${i}-${index}:*`),
    })
    worker.rates = new Map(
      models.slice(0, 50).map((one) => [one.model.key, rate(10 + ((index * 13) % 40))]),
    )
    worker.telemetry = {
      ...noTelemetry,
      vramUsedBytes: 8e9,
      vramTotalBytes: 24e9,
      gpuUtilization: 0.3,
    }
    const slots = new WorkerSlots()
    slots.inFlight = index % 4
    return { worker, slots, index, version: 1 }
  })
}

function rate(outputPerS: number) {
  return { promptPerS: 500, promptSamples: 9, outputPerS, outputSamples: 9, updatedAt: 0 }
}
