// Selection: of the workers that pass every gate, the one with the best score. No score overturns
// a gate, and what is not known adds nothing.
//
// A decision is made for every request over the whole fleet: `choose` computes numbers only, and
// what people read is made from the same numbers by `judge`.

import type { Ask, Judged } from './ask.ts'
import type { RoutingConfig } from '../config/schema.ts'
import { modelLimit } from './concurrency.ts'
import { gateNameOf, reasonOf } from './eligibility-reasons.ts'
import { gateOf, installedOf, isWarm, loadedOf, PASSED, STOPPED_BY } from './eligibility.ts'
import type { Candidate, GateRules } from './eligibility.ts'

export interface SelectionRules extends GateRules {
  routing: RoutingConfig
  /** The worker on which this conversation ran last. */
  affineTo: string | undefined
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
export interface Judgement {
  candidates: readonly Candidate[]
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
export function choose(
  candidates: readonly Candidate[],
  ask: Ask,
  rules: SelectionRules,
  knownOnly?: boolean,
): Choice {
  const gates = new Uint8Array(candidates.length)
  let known = knownOnly ?? false
  for (let i = 0; i < candidates.length; i += 1) {
    const candidate = candidates[i]
    if (candidate === undefined) continue
    const gate = gateOf(candidate, ask, rules)
    gates[i] = gate
    known ||= gate > STOPPED_BY.inventory && isKnownCopy(candidate, ask)
  }
  if (known && !ask.model.cloud) stopUnknown(candidates, gates)
  let furthest = -1
  for (const gate of gates) if (gate > furthest) furthest = gate
  const choice = { index: -1, gates, furthest, bestRate: 0, knownOnly: known }
  if (furthest === PASSED) {
    choice.bestRate = bestRateOf(candidates, gates, ask)
    choice.index = best(candidates, choice, ask, rules)
  }
  return choice
}

/** Allowed, installed, and there: while one such worker exists, a gamble on another is none. */
function isKnownCopy({ worker }: Candidate, ask: Ask): boolean {
  return (
    worker.inventory.state === 'known' &&
    worker.health.state !== 'down' &&
    !worker.draining &&
    !ask.failed.has(worker.name) &&
    worker.inventory.models.has(ask.model.key)
  )
}

function stopUnknown(candidates: readonly Candidate[], gates: Uint8Array): void {
  for (let i = 0; i < gates.length; i += 1) {
    const unknown = candidates[i]?.worker.inventory.state === 'unknown'
    if (unknown && (gates[i] ?? 0) > STOPPED_BY.inventory) gates[i] = STOPPED_BY.inventory
  }
}

function best(
  candidates: readonly Candidate[],
  { gates, bestRate }: Choice,
  ask: Ask,
  rules: SelectionRules,
): number {
  const weights = weightsOf(rules.routing)
  const values = new Float64Array(TERMS)
  let index = -1
  let highest = Number.NEGATIVE_INFINITY
  for (let i = 0; i < candidates.length; i += 1) {
    const candidate = candidates[i]
    if (candidate === undefined || gates[i] !== PASSED) continue
    measure(values, candidate, { ask, rules, bestRate })
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

function bestRateOf(candidates: readonly Candidate[], gates: Uint8Array, ask: Ask): number {
  let rate = 0
  for (let i = 0; i < candidates.length; i += 1) {
    if (gates[i] === PASSED) rate = Math.max(rate, rateOf(candidates[i], ask))
  }
  return rate
}

function rateOf(candidate: Candidate | undefined, ask: Ask): number {
  return candidate?.worker.rates.get(ask.model.key)?.outputPerS ?? 0
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
  out: Float64Array,
  candidate: Candidate,
  { ask, rules, bestRate }: Measuring,
): void {
  const { worker, slots } = candidate
  const { key } = ask.model
  const running = slots.models.get(key) ?? 0
  const pressure = vramPressure(candidate)
  const resident = loadedOf(worker, key) !== undefined
  out[0] = resident && isWarm(candidate, ask) ? 1 : 0
  out[1] = installedOf(worker, key) === undefined ? 0 : 1
  out[2] = bestRate > 0 ? rateOf(candidate, ask) / bestRate : 0
  out[3] = worker.name === rules.affineTo ? 1 : 0
  out[4] = slots.inFlight / worker.config.max_concurrent
  out[5] = running > 0 ? running / modelLimit(worker.config, key) : 0
  out[6] = pressure ?? 0
  out[7] = worker.telemetry?.gpuUtilization ?? 0
  const full = pressure !== undefined && pressure * 100 >= rules.routing.avoid_vram_percent
  out[8] = full && !resident ? 1 : 0
}

function vramPressure({ worker: { telemetry } }: Candidate): number | undefined {
  const { vramUsedBytes: used, vramTotalBytes: all } = telemetry ?? {}
  return used === undefined || all === undefined || all <= 0 ? undefined : Math.min(1, used / all)
}

function total(values: Float64Array, weights: readonly number[]): number {
  let score = 0
  for (let term = 0; term < TERMS; term += 1) score += (values[term] ?? 0) * (weights[term] ?? 0)
  return score
}

/**
 * A choice in words: gate and reason of each candidate, and the terms of those that passed. With
 * `most`, of those that got furthest only, in the order of the candidates all the same.
 */
export function judge(
  { candidates, choice, ask, rules }: Judgement,
  most = candidates.length,
): Judged[] {
  return furthestFirst(choice, most)
    .toSorted((a, b) => a - b)
    .flatMap((i) => {
      const candidate = candidates[i]
      if (candidate === undefined) return []
      const gate = choice.gates[i] ?? 0
      const passed = gate === PASSED
      const terms = passed ? termsOf(candidate, { ask, rules, bestRate: choice.bestRate }) : []
      return {
        worker: candidate.worker.name,
        stoppedBy: gateNameOf(gate),
        reason: reasonOf(gate, candidate, ask, rules),
        score: passed ? terms.reduce((sum, { points }) => sum + points, 0) : undefined,
        terms,
      }
    })
}

/** Indexes of the candidates that got furthest, the chosen one first. */
export function furthestFirst({ gates, index }: Choice, most: number): number[] {
  const order = [...gates.keys()]
  const rank = (i: number): number => (i === index ? PASSED + 1 : (gates[i] ?? 0))
  if (most < order.length) order.sort((a, b) => rank(b) - rank(a))
  return order.slice(0, most)
}

function termsOf(candidate: Candidate, measuring: Measuring) {
  const values = new Float64Array(TERMS)
  measure(values, candidate, measuring)
  const weights = weightsOf(measuring.rules.routing)
  return TERM_NAMES.map((name, term) => {
    const value = values[term] ?? 0
    // Adding zero turns the -0 of an unmeasured penalty into 0.
    return { name, value, points: value * (weights[term] ?? 0) + 0 }
  })
}
