import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkerSlots } from '../../../src/gateway/admission/worker-slots.ts'
import { Config } from '../../../src/gateway/config/schema.ts'
import type { WorkerRecord } from '../../../src/gateway/fleet/worker-record.ts'
import type { Ask } from '../../../src/gateway/policy/ask.ts'
import {
  contextFactsOf,
  contextFaultOf,
  gateOf,
  PASSED,
  STOPPED_BY,
} from '../../../src/gateway/policy/eligibility.ts'
import { gateNameOf, reasonOf } from '../../../src/gateway/policy/eligibility-reasons.ts'
import { modelFactsOf } from '../../../src/gateway/policy/model-facts.ts'
import { compilePlacement } from '../../../src/gateway/policy/placement.ts'
import { askOf, recordOf, setLoaded } from '../../support/fake-fleet.ts'

const NOW = 100_000

const rulesWith = (capabilities: Record<string, unknown> = {}) => {
  const { model_capabilities } = Config.parse({ model_capabilities: capabilities })
  return { now: NOW, capabilities: model_capabilities, numCtxPolicy: 'client' as const }
}

/** A worker that passes every gate for `m:1`. */
const base = (config: Record<string, unknown> = {}): WorkerRecord =>
  recordOf({ name: 'w', installed: ['m:1'], config }, 0)

interface Case {
  worker?: (record: WorkerRecord) => void
  config?: Record<string, unknown>
  slots?: (slots: WorkerSlots) => void
  ask?: Partial<Ask>
  model?: string
  capabilities?: Record<string, unknown>
  gate: keyof typeof STOPPED_BY | 'passed'
  says?: RegExp
}

const stub = (record: WorkerRecord): void => {
  if (record.inventory.state !== 'known') return
  const row = record.inventory.models.get('m:1')
  if (row === undefined) return
  const model = { ...row.model, remoteHost: 'https://ollama.com' }
  record.inventory = { ...record.inventory, models: new Map([['m:1', { ...row, model }]]) }
}
const deny = (record: WorkerRecord): void => {
  record.placement = compilePlacement({
    mode: 'allow_all',
    allowed_models: [],
    denied_models: ['m:*'],
  })
}
const down = (record: WorkerRecord): void => {
  record.health = {
    state: 'down',
    sinceMono: NOW - 41_000,
    sinceWall: 0,
    error: 'connect ECONNREFUSED 10.0.0.1:11434',
  }
}
const unknown = (record: WorkerRecord): void => {
  record.inventory = { state: 'unknown', error: undefined }
}
const breaker = (record: WorkerRecord): void => {
  record.breaker = { phase: 'open', until: NOW + 8_000, pauseMs: 10_000 }
}
const halfOpen = (record: WorkerRecord): void => {
  record.breaker = { phase: 'open', until: NOW - 1, pauseMs: 10_000 }
}
const needs = (...list: Ask['needs'][number][]): Partial<Ask> => ({ needs: list })

// One line per gate and way to be stopped by it; what stops earlier wins over what stops later.
const cases: Record<string, Case> = {
  'nothing stops it': { gate: 'passed', says: /eligible/ },
  'placement denies': {
    worker: deny,
    gate: 'placement',
    says: /blocked by placement rule deny m:\* \(config\)/,
  },
  'placement before health': { worker: (w) => (deny(w), down(w)), gate: 'placement' },
  'not installed': { model: 'n:1', gate: 'inventory', says: /^not installed$/ },
  'not installed, and down': { model: 'n:1', worker: down, gate: 'inventory' },
  'unknown inventory passes': { worker: unknown, gate: 'passed' },
  'placement holds while the inventory is unknown': {
    worker: (w) => (unknown(w), deny(w)),
    gate: 'placement',
  },
  'a cloud name': {
    model: 'm:cloud',
    gate: 'placement',
    says: /cloud model needs an exact allow rule/,
  },
  'a cloud name while the inventory is unknown': {
    model: 'm:cloud',
    worker: unknown,
    gate: 'placement',
  },
  'a cloud name with an exact rule': {
    model: 'm:cloud',
    config: { model_placement: { allowed_models: ['m:cloud'] } },
    gate: 'passed',
  },
  'a stub under a plain name': { worker: stub, gate: 'placement' },
  'a stub with an exact rule': {
    worker: stub,
    config: { model_placement: { allowed_models: ['m:1'] } },
    gate: 'passed',
  },
  'a capability it lacks': {
    ask: needs('tools', 'vision'),
    gate: 'capability',
    says: /does not support vision$/,
  },
  'a capability it has': { ask: needs('tools'), gate: 'passed' },
  'observe stops nothing': {
    ask: needs('vision'),
    capabilities: { mode: 'observe' },
    gate: 'passed',
  },
  'off does not look': { ask: needs('vision'), capabilities: { mode: 'off' }, gate: 'passed' },
  'unknown capabilities pass': { ask: needs('vision'), worker: unknown, gate: 'passed' },
  'what was shown beats what was listed': {
    ask: needs('vision'),
    worker: (w) => (w.info = new Map([['m:1', { ...shown(w), capabilities: ['vision'] }]])),
    gate: 'passed',
  },
  'what was shown of another digest is void': {
    ask: needs('vision'),
    worker: (w) =>
      (w.info = new Map([['m:1', { ...shown(w), digest: 'old', capabilities: ['vision'] }]])),
    gate: 'capability',
  },
  'too long for the loaded context': {
    ask: { contextTokens: 5_000 },
    worker: (w) => setLoaded(w, ['m:1'], 0),
    gate: 'context',
    says: /5000 tokens do not fit the 4096 it gives the model/,
  },
  'too long for a guess is no refusal': { ask: { contextTokens: 5_000 }, gate: 'passed' },
  'the guard is independent of the capabilities’ mode': {
    ask: { contextTokens: 5_000 },
    worker: (w) => setLoaded(w, ['m:1'], 0),
    capabilities: { mode: 'off' },
    gate: 'context',
  },
  'the guard switched off': {
    ask: { contextTokens: 500_000 },
    capabilities: { context_guard: 'off' },
    gate: 'passed',
  },
  'num_ctx above a cap': {
    ask: { numCtx: 9_000 },
    config: { context_limits: { 'm:*': 8192 } },
    gate: 'context',
    says: /num_ctx 9000 is above the 8192/,
  },
  'num_ctx above the model’s maximum': { ask: { numCtx: 9_000 }, gate: 'context' },
  'a down worker': {
    worker: down,
    gate: 'up',
    says: /^down since 41 s: connect ECONNREFUSED 10\.0\.0\.1:11434$/,
  },
  'down and draining': { worker: (w) => (down(w), (w.draining = true)), gate: 'up' },
  'a draining worker': { worker: (w) => (w.draining = true), gate: 'draining' },
  'draining with an open breaker': {
    worker: (w) => ((w.draining = true), breaker(w)),
    gate: 'draining',
  },
  'an open breaker': { worker: breaker, gate: 'breaker', says: /tried again in 8 s/ },
  'a load that failed': {
    worker: (w) => (w.loadCoolDowns = new Map([['m:1', { until: NOW + 20_000, pauseMs: 30_000 }]])),
    gate: 'breaker',
    says: /could not load m:1; tried again in 20 s/,
  },
  'a load of another model that failed': {
    worker: (w) => (w.loadCoolDowns = new Map([['n:1', { until: NOW + 20_000, pauseMs: 30_000 }]])),
    gate: 'passed',
  },
  'a load that failed long ago': {
    worker: (w) => (w.loadCoolDowns = new Map([['m:1', { until: NOW, pauseMs: 2_000 }]])),
    gate: 'passed',
  },
  'it failed this request': {
    ask: { failed: new Map([['w', 'refused']]) },
    gate: 'failed',
    says: /failed this request already: refused/,
  },
  'not probed yet': {
    worker: (w) => (w.health = { state: 'starting' }),
    gate: 'starting',
    says: /not probed yet/,
  },
  'half-open, one under way': {
    worker: halfOpen,
    slots: (s) => (s.trial = Symbol('trial')),
    gate: 'slots',
  },
  'half-open, none under way': { worker: halfOpen, gate: 'passed' },
  'all slots taken': {
    slots: (s) => (s.inFlight = 4),
    gate: 'slots',
    says: /all 4 slots are taken$/,
  },
  'the model’s slots taken': {
    config: { model_concurrency: { m: 9, 'm:*': 1 } },
    slots: (s) => s.take('m:1', NOW),
    gate: 'slots',
    says: /the only slot is taken for m:1/,
  },
  'another model’s slots taken': {
    config: { model_concurrency: { '*': 1 } },
    slots: (s) => s.take('n:1', NOW),
    gate: 'passed',
  },
  'it said busy': {
    slots: (s) => s.holds.set('m:1', NOW + 900),
    gate: 'slots',
    says: /answered busy/,
  },
  'it said busy before': { slots: (s) => s.holds.set('m:1', NOW), gate: 'passed' },
}

function shown(record: WorkerRecord) {
  const digest =
    record.inventory.state === 'known'
      ? (record.inventory.models.get('m:1')?.model.digest ?? '')
      : ''
  return { digest, capabilities: undefined, contextMax: undefined, modelfileNumCtx: undefined }
}

for (const [
  name,
  { worker, config, slots, ask: changes, model = 'm:1', capabilities, gate, says },
] of Object.entries(cases)) {
  test(`gates: ${name}`, () => {
    const candidate = { worker: base(config), slots: new WorkerSlots() }
    worker?.(candidate.worker)
    slots?.(candidate.slots)
    const ask = askOf(model, changes)
    const rules = rulesWith(capabilities)
    const facts = modelFactsOf(candidate.worker, ask.model)
    const reached = gateOf(candidate, facts, ask, rules)
    assert.equal(reached, gate === 'passed' ? PASSED : STOPPED_BY[gate])
    const reason = reasonOf(reached, candidate, ask, rules)
    assert.match(reason, says ?? /./)
    assert.equal(
      gateNameOf(reached),
      gate === 'passed' ? undefined : gate === 'starting' ? 'up' : gate,
    )
  })
}

// The gate has a short way for what fits everywhere; it must never let more through.
test('gates: the context gate says what the whole judgement says, whatever is known', () => {
  let seed = 7
  const sizes = [undefined, 1_000, 4_096, 8_192, 40_960]
  const any = <T>(from: readonly T[]): T => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return from[Math.floor((seed / 2 ** 32) * from.length)] as T
  }
  const stopped = { yes: 0, no: 0 }
  for (let round = 0; round < 5_000; round += 1) {
    const [modelfileNumCtx, contextMax, own, limit, loaded] = sizes.map(() => any(sizes))
    const record = base({
      default_context_tokens: own ?? null,
      context_limits: limit === undefined ? {} : { 'm:*': limit },
    })
    record.info = new Map([['m:1', { ...shown(record), modelfileNumCtx, contextMax }]])
    setLoaded(record, loaded === undefined ? [] : ['m:1'], NOW)
    if (record.loaded.state === 'known' && loaded !== undefined) {
      const [model] = record.loaded.models.values()
      if (model !== undefined) {
        record.loaded = {
          ...record.loaded,
          models: new Map([['m:1', { ...model, contextLength: loaded }]]),
        }
      }
    }
    const candidate = { worker: record, slots: new WorkerSlots() }
    if (any([true, false]) && loaded !== undefined) candidate.slots.loadedBy.set('m:1', loaded)
    const contextTokens = any([500, 1_000, 1_001, 4_096, 4_500, 9_000, 50_000])
    const ask = askOf('m:1', { contextTokens, answerTokens: any([0, 400]) })
    const rules = rulesWith()
    const facts = modelFactsOf(record, ask.model)
    const fault = contextFaultOf(ask, contextFactsOf(candidate, facts, ask, rules), rules)
    const gate = gateOf(candidate, facts, ask, rules)
    assert.equal(gate === STOPPED_BY.context, fault !== undefined)
    stopped[fault === undefined ? 'no' : 'yes'] += 1
  }
  assert.ok(stopped.yes > 500 && stopped.no > 500, JSON.stringify(stopped))
})
