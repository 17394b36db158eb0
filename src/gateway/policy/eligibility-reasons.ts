// Why a worker was not used, in one sentence. Asked for errors, `ogw explain` and decisions that
// are kept, never while a decision is made.

import type { Ask, GateName } from './ask.ts'
import { nextTryAt } from './breaker.ts'
import { missingCapabilities } from './capability.ts'
import { modelLimit } from './concurrency.ts'
import type { ContextLimit, ContextSource } from './context-guard.ts'
import {
  capabilitiesOf,
  contextFactsOf,
  contextFaultOf,
  PASSED,
  STOPPED_BY,
  wishOf,
} from './eligibility.ts'
import type { Candidate, ContextFault, GateRules } from './eligibility.ts'
import { modelFactsOf } from './model-facts.ts'
import { stoppedByLoad } from './pending-load.ts'
import { describeVerdict } from './placement.ts'

/** The gate as it is called in decisions; a worker that is not probed yet is not up yet. */
export function gateNameOf(gate: number): GateName | undefined {
  if (gate === PASSED) return undefined
  if (gate === STOPPED_BY.starting) return 'up'
  return NAMES[gate]
}

const NAMES: readonly GateName[] = [
  'placement',
  'inventory',
  'capability',
  'context',
  'up',
  'draining',
  'breaker',
  'failed',
  'up',
  'slots',
]

/** What stopped the worker at this gate, without its name. */
export function reasonOf(gate: number, candidate: Candidate, ask: Ask, rules: GateRules): string {
  const { worker } = candidate
  switch (gate) {
    case STOPPED_BY.placement:
      return `blocked by ${describeVerdict(modelFactsOf(worker, ask.model).verdict)} (${worker.placementLayer})`
    case STOPPED_BY.inventory:
      return worker.inventory.state === 'unknown'
        ? 'inventory unknown, and another worker has a known copy'
        : 'not installed'
    case STOPPED_BY.capability:
      return `the model there does not support ${missingOn(candidate, ask).join(', ')}`
    case STOPPED_BY.context:
      return contextReason(candidate, ask, rules)
    case STOPPED_BY.up:
      return downReason(candidate, rules.now)
    case STOPPED_BY.draining:
      return 'draining: it takes no new requests'
    case STOPPED_BY.breaker:
      return breakerReason(candidate, ask, rules.now)
    case STOPPED_BY.failed:
      return `failed this request already: ${ask.failed.get(worker.name) ?? ''}`
    case STOPPED_BY.starting:
      return 'not probed yet'
    case STOPPED_BY.slots:
      return slotReason(candidate, ask, rules)
    default:
      return 'eligible'
  }
}

export function missingOn({ worker }: Candidate, ask: Ask): string[] {
  return missingCapabilities(ask.needs, capabilitiesOf(modelFactsOf(worker, ask.model)))
}

/** What the context gate says of the request there; undefined = it fits. */
export function contextFaultOn(
  candidate: Candidate,
  ask: Ask,
  rules: GateRules,
): ContextFault | undefined {
  const facts = modelFactsOf(candidate.worker, ask.model)
  return contextFaultOf(ask, contextFactsOf(candidate, facts, ask, rules), rules)
}

function contextReason(candidate: Candidate, ask: Ask, rules: GateRules): string {
  const fault = contextFaultOn(candidate, ask, rules)
  if (fault === undefined) return 'the context there suffices'
  if (fault.kind === 'num_ctx') return `num_ctx ${fault.detail}`
  const from = fault.limit === undefined ? SOURCE_WORDS[fault.source] : LIMIT_WORDS[fault.limit]
  return `${fault.needed} tokens do not fit the ${fault.max} it gives the model (${from})`
}

const SOURCE_WORDS: Readonly<Record<ContextSource, string>> = {
  num_ctx: 'num_ctx of the request',
  loaded: 'as it is loaded',
  modelfile: 'num_ctx of its Modelfile',
  worker: 'default_context_tokens',
  guess: 'default_worker_tokens',
}

const LIMIT_WORDS: Readonly<Record<ContextLimit, string>> = {
  model: 'the most that the model can',
  context_limits: 'context_limits',
  max_requested_tokens: 'max_requested_tokens',
}

function downReason({ worker: { health } }: Candidate, now: number): string {
  if (health.state !== 'down') return 'up'
  return `down since ${secondsOf(now - health.sinceMono)} s: ${health.error}`
}

function breakerReason({ worker }: Candidate, ask: Ask, now: number): string {
  const until = nextTryAt(worker.breaker)
  if (until !== undefined && until > now) {
    return `its connections kept failing; tried again in ${secondsOf(until - now)} s`
  }
  const cooled = worker.loadCoolDowns.get(ask.model.key)?.until ?? now
  return `could not load ${ask.model.key}; tried again in ${secondsOf(cooled - now)} s`
}

function slotReason(candidate: Candidate, ask: Ask, rules: GateRules): string {
  const { worker, slots } = candidate
  const { now } = rules
  const { key } = ask.model
  const { max_concurrent: most } = worker.config
  if (slots.onTrial && worker.breaker.phase === 'open') {
    return 'one request tries whether its connections work again'
  }
  if (slots.inFlight >= most) return `${allTaken(most)}`
  const limit = modelLimit(worker.config, key)
  if ((slots.models.get(key) ?? 0) >= limit) return `${allTaken(limit)} for ${key}`
  const held = slots.holds.get(key) ?? 0
  if (held > now) return `answered busy, left alone for ${secondsOf(held - now)} s`
  const wish = wishOf(candidate, modelFactsOf(worker, ask.model), ask, rules)
  return stoppedByLoad(slots.pendingLoad, wish, now) ?? 'a slot is free'
}

function allTaken(slots: number): string {
  return slots === 1 ? 'the only slot is taken' : `all ${slots} slots are taken`
}

/** Whole seconds, at least 1: "in 0 s" helps nobody. */
function secondsOf(ms: number): number {
  return Math.max(1, Math.round(ms / 1000))
}
