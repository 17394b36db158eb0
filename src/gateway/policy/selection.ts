// Selection: of the workers that pass every gate, the one with the best score. No score overturns
// a gate, and what is not known adds nothing.
//
// A decision is made for every request over the whole fleet: `choose` computes numbers only, and
// what people read is made from the same numbers by `judge`.

import type { Ask, Judged, ScoreTerm } from './ask.ts'
import type { RoutingConfig } from '../config/schema.ts'
import { modelLimit } from './concurrency.ts'
import { gateNameOf, reasonOf } from './eligibility-reasons.ts'
import { gateOf, isWarm, PASSED, STOPPED_BY } from './eligibility.ts'
import type { Candidate, GateRules } from './eligibility.ts'
import type { ModelFacts } from './model-facts.ts'

export interface SelectionRules extends GateRules {
  routing: RoutingConfig
  /** The worker on which this conversation ran last. */
  affineTo: string | undefined
}

/** Candidates and, in the same order, what is known of the model on each. */
export interface Field {
  candidates: readonly Candidate[]
  facts: readonly ModelFacts[]
}

export interface Choice {
  /** Index of the chosen candidate; -1 = none passed. */
  index: number
  /** How far each candidate got. */
  gates: Uint8Array
  /** The furthest that any got. */
  furthest: number
  /** The best learned output rate among those that passed; 0 = none is known. */
  bestRate: number
  /** Known copies exist on workers that are up: unknown inventories are no candidates. */
  knownOnly: boolean
}

/** A choice with what it was made from. */
export interface Judgement extends Field {
  choice: Choice
  ask: Ask
  rules: SelectionRules
}

/** Loading a model where GPU memory is all but full is a last resort, below every other score. */
const AVOID_VRAM_POINTS = 1000

const TERM_NAMES = [
  'loaded',
  'installed',
  'throughput',
  'affinity',
  'load',
  'model_load',
  'vram_pressure',
  'gpu_utilization',
  'avoid_vram',
] as const
const TERMS = TERM_NAMES.length

/**
 * Asks every gate of every candidate and takes the best of those that passed. `knownOnly` is given
 * where the candidates are not the whole fleet, and found out where they are.
 */
export function choose(field: Field, ask: Ask, rules: SelectionRules, knownOnly?: boolean): Choice {
  const { candidates, facts } = field
  const gates = new Uint8Array(candidates.length)
  let known = knownOnly ?? false
  for (let i = 0; i < candidates.length; i += 1) {
    const candidate = candidates[i]
    const fact = facts[i]
    if (candidate === undefined || fact === undefined) continue
    const gate = gateOf(candidate, fact, ask, rules)
    gates[i] = gate
    known ||= gate > STOPPED_BY.inventory && isKnownCopy(candidate, fact, ask)
  }
  if (known && !ask.model.cloud) stopUnknown(facts, gates)
  let furthest = -1
  for (const gate of gates) if (gate > furthest) furthest = gate
  const choice = { index: -1, gates, furthest, bestRate: 0, knownOnly: known }
  if (furthest === PASSED) {
    choice.bestRate = bestRateOf(facts, gates)
    choice.index = best(field, choice, ask, rules)
  }
  return choice
}

/** Allowed, installed, and there: while one such worker exists, a gamble on another is none. */
function isKnownCopy({ worker }: Candidate, { presence }: ModelFacts, ask: Ask): boolean {
  return (
    presence === 'installed' &&
    worker.health.state !== 'down' &&
    !worker.draining &&
    !ask.failed.has(worker.name)
  )
}

function stopUnknown(facts: readonly ModelFacts[], gates: Uint8Array): void {
  for (let i = 0; i < gates.length; i += 1) {
    const unknown = facts[i]?.presence === 'unknown'
    if (unknown && (gates[i] ?? 0) > STOPPED_BY.inventory) gates[i] = STOPPED_BY.inventory
  }
}

function best(
  { candidates, facts }: Field,
  { gates, bestRate }: Choice,
  ask: Ask,
  rules: SelectionRules,
): number {
  const weights = weightsOf(rules.routing)
  const values: number[] = []
  let index = -1
  let highest = Number.NEGATIVE_INFINITY
  for (let i = 0; i < candidates.length; i += 1) {
    const candidate = candidates[i]
    const fact = facts[i]
    if (candidate === undefined || fact === undefined || gates[i] !== PASSED) continue
    measure(values, candidate, fact, { ask, rules, bestRate })
    const score = total(values, weights)
    if (score > highest || (score === highest && goesBefore(candidate, candidates[index]))) {
      index = i
      highest = score
    }
  }
  return index
}

/** Of equals the one with fewer in flight, then the one that was granted longest ago. */
function goesBefore({ slots }: Candidate, other: Candidate | undefined): boolean {
  if (other === undefined) return true
  const fewer = slots.inFlight - other.slots.inFlight
  return fewer < 0 || (fewer === 0 && slots.lastGrant < other.slots.lastGrant)
}

function bestRateOf(facts: readonly ModelFacts[], gates: Uint8Array): number {
  let rate = 0
  for (let i = 0; i < gates.length; i += 1) {
    if (gates[i] === PASSED) rate = Math.max(rate, facts[i]?.outputPerS ?? 0)
  }
  return rate
}

/** Bonuses add and penalties subtract; the order is that of TERM_NAMES. */
function weightsOf(routing: RoutingConfig): readonly number[] {
  return [
    routing.loaded_bonus,
    routing.installed_bonus,
    routing.throughput_bonus,
    routing.affinity_bonus,
    -routing.load_penalty,
    -routing.model_load_penalty,
    -routing.vram_pressure_penalty,
    -routing.gpu_utilization_penalty,
    -AVOID_VRAM_POINTS,
  ]
}

interface Measuring {
  ask: Ask
  rules: SelectionRules
  bestRate: number
}

/** Writes the quantity of each term, 0 to 1. */
function measure(
  out: number[],
  candidate: Candidate,
  facts: ModelFacts,
  { ask, rules, bestRate }: Measuring,
): void {
  const { worker, slots } = candidate
  const { key } = ask.model
  const running = slots.models.size === 0 ? 0 : (slots.models.get(key) ?? 0)
  const pressure = vramPressure(candidate)
  const resident = facts.loaded !== undefined
  out[0] = resident && isWarm(candidate, facts, ask, rules) ? 1 : 0
  out[1] = facts.presence === 'installed' ? 1 : 0
  out[2] = bestRate > 0 ? facts.outputPerS / bestRate : 0
  out[3] = worker.name === rules.affineTo ? 1 : 0
  out[4] = slots.inFlight / worker.config.max_concurrent
  out[5] = running > 0 ? running / modelLimit(worker.config, key) : 0
  out[6] = pressure ?? 0
  out[7] = worker.telemetry?.gpuUtilization ?? 0
  const full = pressure !== undefined && pressure * 100 >= rules.routing.avoid_vram_percent
  out[8] = full && !resident ? 1 : 0
}

function vramPressure({ worker: { telemetry } }: Candidate): number | undefined {
  const { vramUsedBytes: used, vramTotalBytes: all, vramReservedBytes: reserved } = telemetry ?? {}
  if (used === undefined || all === undefined) return undefined
  const usable = all - (reserved ?? 0)
  return usable <= 0 ? undefined : Math.min(1, used / usable)
}

function total(values: readonly number[], weights: readonly number[]): number {
  let score = 0
  for (let term = 0; term < TERMS; term += 1) score += (values[term] ?? 0) * (weights[term] ?? 0)
  return score
}

/**
 * A choice in words: gate and reason of each candidate, and the terms of those that passed. With
 * `most`, of those that got furthest only, in the order of the candidates all the same.
 */
export function judge(judgement: Judgement, most = judgement.candidates.length): Judged[] {
  return noteJudged(judgement, most)()
}

/**
 * Notes now what a choice was made from, and words it when asked: thousands of decisions are kept,
 * few are ever read, and the workers' records change in place.
 */
export function noteJudged(
  { candidates, facts, choice, ask, rules }: Judgement,
  most: number,
): () => Judged[] {
  const measuring = { ask, rules, bestRate: choice.bestRate }
  const noted: NotedWorker[] = []
  for (const i of furthestFirst(choice, most)) {
    const candidate = candidates[i]
    const fact = facts[i]
    if (candidate === undefined || fact === undefined) continue
    const gate = choice.gates[i] ?? 0
    const worker = candidate.worker.name
    const reason = reasonOf(gate, candidate, ask, rules)
    const values: number[] = []
    if (gate === PASSED) measure(values, candidate, fact, measuring)
    noted.push({ i, worker, gate, reason, values })
  }
  const { routing } = rules
  return () => {
    const weights = weightsOf(routing)
    return noted.toSorted((a, b) => a.i - b.i).map((one) => judgedOf(one, weights))
  }
}

interface NotedWorker {
  i: number
  worker: string
  gate: number
  reason: string
  /** Empty where a gate stopped it. */
  values: readonly number[]
}

function judgedOf(
  { worker, gate, reason, values }: NotedWorker,
  weights: readonly number[],
): Judged {
  const passed = gate === PASSED
  return {
    worker,
    stoppedBy: gateNameOf(gate),
    reason,
    score: passed ? total(values, weights) : undefined,
    terms: passed ? termsOf(values, weights) : [],
  }
}

/** Indexes of the candidates that got furthest, the chosen one first. */
export function furthestFirst({ gates, index }: Choice, most: number): number[] {
  if (most >= gates.length) return [...gates.keys()]
  const order = index >= 0 ? [index] : []
  for (let gate = PASSED; gate >= 0; gate -= 1) {
    for (let i = 0; i < gates.length; i += 1) {
      if (order.length >= most) return order
      if (gates[i] === gate && i !== index) order.push(i)
    }
  }
  return order
}

function termsOf(values: readonly number[], weights: readonly number[]): ScoreTerm[] {
  return TERM_NAMES.map((name, term) => {
    const value = values[term] ?? 0
    // Adding zero turns the -0 of an unmeasured penalty into 0.
    return { name, value, points: value * (weights[term] ?? 0) + 0 }
  })
}
