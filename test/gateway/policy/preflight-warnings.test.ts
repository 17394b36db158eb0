import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkerSlots } from '../../../src/gateway/admission/worker-slots.ts'
import { Config } from '../../../src/gateway/config/schema.ts'
import type { Ask } from '../../../src/gateway/policy/ask.ts'
import { modelFactsOf } from '../../../src/gateway/policy/model-facts.ts'
import { preflightWarnings } from '../../../src/gateway/policy/preflight-warnings.ts'
import { askOf, recordOf, setLoaded } from '../../support/fake-fleet.ts'

interface Case {
  ask: Partial<Ask>
  capabilities: Record<string, unknown>
  /** Its 4096 are loaded, so that no guess speaks. */
  loaded?: true
  unknown?: true
  says: RegExp[]
}

const observe = { mode: 'observe', context_guard: 'observe' }
const vision: Partial<Ask> = { needs: ['vision', 'thinking'] }
const long: Partial<Ask> = { contextTokens: 5000 }

// The two modes are independent, and only `observe` speaks: `enforce` and `reject` have refused.
const cases: Record<string, Case> = {
  'a capability': {
    ask: vision,
    capabilities: observe,
    says: [/^m:1 does not support vision, thinking on w$/],
  },
  'a capability, enforced': { ask: vision, capabilities: { mode: 'enforce' }, says: [] },
  'a capability, off': { ask: vision, capabilities: { mode: 'off' }, says: [] },
  'a capability, the guard alone observes': {
    ask: vision,
    capabilities: { mode: 'off', context_guard: 'observe' },
    says: [],
  },
  'unknown capabilities': { ask: vision, capabilities: observe, unknown: true, says: [] },
  'a prompt beyond what is loaded': {
    ask: long,
    capabilities: observe,
    loaded: true,
    says: [/^about 5000 tokens may not fit the 4096 of context on w$/],
  },
  'a prompt beyond a guess': { ask: long, capabilities: observe, says: [] },
  'a prompt, the guard rejects': {
    ask: long,
    capabilities: { mode: 'observe', context_guard: 'reject' },
    loaded: true,
    says: [],
  },
  'a prompt, the guard is off': {
    ask: long,
    capabilities: { mode: 'observe', context_guard: 'off' },
    loaded: true,
    says: [],
  },
  'num_ctx above the model’s maximum': {
    ask: { numCtx: 9000 },
    capabilities: observe,
    says: [/^num_ctx: 9000 is above the 8192 tokens/],
  },
  'both at once': {
    ask: { ...vision, ...long },
    capabilities: observe,
    loaded: true,
    says: [/does not support/, /may not fit/],
  },
}

for (const [name, { ask: changes, capabilities, loaded, unknown, says }] of Object.entries(cases)) {
  test(`warning: ${name}`, () => {
    const worker = recordOf({ name: 'w', installed: ['m:1'] }, 0)
    if (loaded) setLoaded(worker, ['m:1'], 0)
    if (unknown) worker.inventory = { state: 'unknown', error: undefined }
    const ask = askOf('m:1', changes)
    const { model_capabilities } = Config.parse({ model_capabilities: capabilities })
    const rules = { now: 0, capabilities: model_capabilities, numCtxPolicy: 'client' as const }
    const candidate = { worker, slots: new WorkerSlots() }
    const warnings = preflightWarnings(candidate, modelFactsOf(worker, ask.model), ask, rules)
    assert.equal(warnings.length, says.length, warnings.join('; '))
    for (const [at, pattern] of says.entries()) assert.match(warnings[at] ?? '', pattern)
  })
}
