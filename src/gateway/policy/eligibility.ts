// The gates: hard rules that a worker passes or not for one request, asked in a fixed order by the
// last known facts. The worker that got furthest decides what the client is told.
//
// Everything here is a pure function of its arguments and makes no text: a decision over hundreds
// of workers is made for every request. eligibility-reasons.ts says the same in sentences.

import type { Ask } from './ask.ts'
import type { CapabilitiesConfig, NumCtxConfig } from '../config/schema.ts'
import type { Worker } from '../fleet/worker.ts'
import { breakerGate } from './breaker.ts'
import { knownCapabilities, missingCapabilities } from './capability.ts'
import { modelLimit } from './concurrency.ts'
import {
  contextCap,
  judgeContext,
  judgeNumCtx,
  limitedBy,
  lowestLimit,
  tokensNeeded,
} from './context-guard.ts'
import type { ContextFacts, ContextLimit, ContextNeed, ContextSource } from './context-guard.ts'
import type { ModelFacts } from './model-facts.ts'
import { stoppedByLoad } from './pending-load.ts'
import type { LoadWish, PendingLoad } from './pending-load.ts'

/** What admission knows of one worker: its slots, and what it may not be sent just now. */
export interface SlotState {
  readonly inFlight: number
  /** Requests in flight by model key; a model without any is not in it. */
  readonly models: ReadonlyMap<string, number>
  /** Model key → monotonic time until which the worker said that it is busy. */
  readonly holds: ReadonlyMap<string, number>
  readonly pendingLoad: PendingLoad | undefined
  /** A request of a half-open breaker is under way. */
  readonly onTrial: boolean
  /** Model key → the num_ctx of the request that loaded it so. */
  readonly loadedBy: ReadonlyMap<string, number>
  /** Counts up over all grants: the one granted longest ago has the lowest. */
  readonly lastGrant: number
}

export interface Candidate {
  readonly worker: Worker
  readonly slots: SlotState
}

export interface GateRules {
  now: number
  capabilities: Pick<CapabilitiesConfig, 'mode' | 'context_guard' | 'context'>
  numCtxPolicy: NumCtxConfig['policy']
}

/**
 * How far a worker got: the gate that stopped it, or PASSED. The order is that of the gates; what
 * fails a request that was tried ranks above them, because it got as far as being sent.
 */
export const STOPPED_BY = {
  placement: 0,
  inventory: 1,
  capability: 2,
  context: 3,
  up: 4,
  draining: 5,
  breaker: 6,
  failed: 7,
  /** Not probed yet: its requests wait. */
  starting: 8,
  slots: 9,
} as const
export const PASSED = 10

/** A request with only such workers waits; below, it fails. */
export const WORTH_WAITING = STOPPED_BY.starting

export function gateOf(
  candidate: Candidate,
  facts: ModelFacts,
  ask: Ask,
  rules: GateRules,
): number {
  if (!facts.verdict.allowed) return STOPPED_BY.placement
  if (facts.presence === 'missing' && !ask.model.cloud) return STOPPED_BY.inventory
  if (lacksCapability(facts, ask, rules)) return STOPPED_BY.capability
  if (!facts.cloud && lacksContext(candidate, facts, ask, rules)) return STOPPED_BY.context
  return liveGateOf(candidate, facts, ask, rules)
}

/** The gates of what changes from second to second. */
function liveGateOf(candidate: Candidate, facts: ModelFacts, ask: Ask, rules: GateRules): number {
  const { worker, slots } = candidate
  const { now } = rules
  if (worker.health.state === 'down') return STOPPED_BY.up
  if (worker.draining) return STOPPED_BY.draining
  const breaker = breakerGate(worker.breaker, now)
  if (breaker === 'open' || isCoolingDown(worker, ask.model.key, now)) return STOPPED_BY.breaker
  if (ask.failed.has(worker.name)) return STOPPED_BY.failed
  if (worker.health.state === 'starting') return STOPPED_BY.starting
  if (breaker === 'half_open' && slots.onTrial) return STOPPED_BY.slots
  return hasSlot(candidate, facts, ask, rules) ? PASSED : STOPPED_BY.slots
}

function isCoolingDown(worker: Worker, key: string, now: number): boolean {
  return worker.loadCoolDowns.size > 0 && (worker.loadCoolDowns.get(key)?.until ?? 0) > now
}

function hasSlot(candidate: Candidate, facts: ModelFacts, ask: Ask, rules: GateRules): boolean {
  const { worker, slots } = candidate
  const { now } = rules
  const { key } = ask.model
  if (slots.inFlight >= worker.config.max_concurrent) return false
  const running = slots.models.get(key)
  if (running !== undefined && running >= modelLimit(worker.config, key)) return false
  if (slots.holds.size > 0 && (slots.holds.get(key) ?? 0) > now) return false
  if (slots.pendingLoad === undefined) return true
  return stoppedByLoad(slots.pendingLoad, wishOf(candidate, facts, ask, rules), now) === undefined
}

export function wishOf(
  candidate: Candidate,
  facts: ModelFacts,
  ask: Ask,
  rules: GateRules,
): LoadWish {
  const { keepsAlive, model } = ask
  const numCtx = sentNumCtx(candidate, facts, ask, rules)
  return { key: model.key, numCtx, keepsAlive, warm: isResident(candidate, facts, ask, rules) }
}

/** The num_ctx that the worker would get: what the operator's policy makes of the request's own. */
export function sentNumCtx(
  candidate: Candidate,
  facts: ModelFacts,
  ask: Ask,
  rules: GateRules,
): number | undefined {
  if (ask.numCtx === undefined || rules.numCtxPolicy === 'client') return ask.numCtx
  const context = contextFactsOf(candidate, facts, ask, rules)
  const judged = judgeNumCtx(ask.numCtx, context, rules.numCtxPolicy)
  return judged.ok ? judged.numCtx : ask.numCtx
}

/** The model is resident as the request needs it, with room for it. */
export function isWarm(
  candidate: Candidate,
  facts: ModelFacts,
  ask: Ask,
  rules: GateRules,
): boolean {
  const contextLength = facts.loaded?.contextLength
  const need = contextLength === undefined ? undefined : needOf(ask)
  if (contextLength !== undefined && need !== undefined) {
    if (tokensNeeded(need, contextLength) > contextLength) return false
  }
  return isResident(candidate, facts, ask, rules)
}

/**
 * The request would not make the worker load the model. Ollama reloads it for any other num_ctx,
 * smaller or larger, and reloads it back to its default for a request without one.
 */
export function isResident(
  candidate: Candidate,
  facts: ModelFacts,
  ask: Ask,
  rules: GateRules,
): boolean {
  const { loaded } = facts
  if (loaded === undefined) return false
  const { contextLength } = loaded
  if (contextLength === undefined) return ask.numCtx === undefined
  if (ask.numCtx !== undefined) {
    return sentNumCtx(candidate, facts, ask, rules) === contextLength
  }
  const { loadedBy } = candidate.slots
  return loadedBy.size === 0 || loadedBy.get(ask.model.key) !== contextLength
}

/** `off` costs nothing, and `observe` stops nothing. */
function lacksCapability(facts: ModelFacts, ask: Ask, { capabilities }: GateRules): boolean {
  if (capabilities.mode !== 'enforce' || ask.needs.length === 0) return false
  return missingCapabilities(ask.needs, capabilitiesOf(facts)).length > 0
}

export function capabilitiesOf({ installed, info }: ModelFacts): readonly string[] | undefined {
  return knownCapabilities(installed, info)
}

function lacksContext(
  candidate: Candidate,
  facts: ModelFacts,
  ask: Ask,
  rules: GateRules,
): boolean {
  if (rules.capabilities.context_guard !== 'reject') return false
  if (ask.contextTokens === undefined && ask.numCtx === undefined) return false
  if (ask.numCtx === undefined && fitsTheLeast(candidate, facts, ask, rules)) return false
  return contextFaultOf(ask, contextFactsOf(candidate, facts, ask, rules), rules) !== undefined
}

/** What fits the smallest context that could speak fits whichever does: most requests are small. */
function fitsTheLeast(
  { worker }: Candidate,
  facts: ModelFacts,
  { contextTokens = 0 }: Ask,
  { capabilities }: GateRules,
): boolean {
  const { default_worker_tokens: guess, max_requested_tokens: most } = capabilities.context
  return (
    contextTokens <= guess &&
    contextTokens <= most &&
    contextTokens <= (worker.config.default_context_tokens ?? most) &&
    contextTokens <= (facts.contextLimit ?? most) &&
    contextTokens <= leastOfModel(facts, most)
  )
}

function leastOfModel({ loaded, info, installed }: ModelFacts, most: number): number {
  const trained = info?.contextMax ?? installed?.contextLength ?? most
  return Math.min(trained, info?.modelfileNumCtx ?? most, loaded?.contextLength ?? most)
}

/** What the context gate says no to. */
export type ContextFault =
  | { kind: 'num_ctx'; detail: string }
  | {
      kind: 'too_long'
      needed: number
      max: number
      source: ContextSource
      /** What keeps it from being more; where only a guess spoke, the limit is all that counts. */
      limit: ContextLimit | undefined
    }

export function contextFaultOf(
  ask: Ask,
  facts: ContextFacts,
  { numCtxPolicy }: GateRules,
): ContextFault | undefined {
  let { numCtx } = ask
  if (numCtx !== undefined) {
    const judged = judgeNumCtx(numCtx, facts, numCtxPolicy)
    if (!judged.ok) return { kind: 'num_ctx', detail: judged.detail }
    numCtx = judged.numCtx
  }
  const need = needOf(ask)
  if (need === undefined) return undefined
  const verdict = judgeContext(need, facts, numCtx)
  if (verdict.fits !== false) return undefined
  const { needed, context } = verdict
  const { source, tokens } = context
  if (source === 'guess') {
    return { kind: 'too_long', needed, max: contextCap(facts), source, limit: lowestLimit(facts) }
  }
  return { kind: 'too_long', needed, max: tokens, source, limit: limitedBy(facts, numCtx) }
}

export function needOf({ contextTokens, answerTokens = 0 }: Ask): ContextNeed | undefined {
  if (contextTokens === undefined) return undefined
  return { promptTokens: contextTokens - answerTokens, answerTokens }
}

/** True where only a guess says that the request does not fit: the model is loaded empty first. */
export function needsLoadFirst(
  candidate: Candidate,
  facts: ModelFacts,
  ask: Ask,
  rules: GateRules,
): boolean {
  const need = needOf(ask)
  if (need === undefined || facts.cloud || rules.capabilities.context_guard === 'off') return false
  const context = contextFactsOf(candidate, facts, ask, rules)
  return judgeContext(need, context, ask.numCtx).fits === 'after_load'
}

export function contextFactsOf(
  { worker, slots }: Candidate,
  facts: Pick<ModelFacts, 'info' | 'installed' | 'loaded' | 'contextLimit'>,
  ask: { model: { key: string } },
  { capabilities }: Pick<GateRules, 'capabilities'>,
): ContextFacts {
  const { key } = ask.model
  const { info, installed, contextLimit } = facts
  const loaded = facts.loaded?.contextLength
  const loadedBy = slots.loadedBy.get(key)
  return {
    loaded,
    loadedByNumCtx: loadedBy === loaded ? loadedBy : undefined,
    modelfile: info?.modelfileNumCtx,
    workerDefault: worker.config.default_context_tokens ?? undefined,
    guess: capabilities.context.default_worker_tokens,
    modelMax: info?.contextMax ?? installed?.contextLength,
    workerLimit: contextLimit,
    gatewayLimit: capabilities.context.max_requested_tokens,
  }
}
