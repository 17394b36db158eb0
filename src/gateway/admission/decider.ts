// Decisions over the fleet as it is now: what the policies say, with the rules of the running
// config. It takes no slot and changes nothing.

import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import { modelLimit } from '../policy/concurrency.ts'
import { effectiveContext, judgeNumCtx, limitedBy } from '../policy/context-guard.ts'
import type { ContextOn, NumCtxVerdict } from '../policy/context-guard.ts'
import { contextFactsOf, STOPPED_BY, WORTH_WAITING } from '../policy/eligibility.ts'
import type { Place } from '../policy/fair-queue.ts'
import { modelFactsOf } from '../policy/model-facts.ts'
import type { ModelName } from '../policy/model-name.ts'
import { preflightWarnings } from '../policy/preflight-warnings.ts'
import { choose, noteJudged } from '../policy/selection.ts'
import type { Choice, Field, Judgement, SelectionRules } from '../policy/selection.ts'
import type { Ask, Decision } from './ask.ts'
import { FactTable } from './fact-table.ts'
import type { FleetRows, Row } from './fleet-rows.ts'
import type { AdmissionMemory } from './memory.ts'

export type AdmissionSettings = Pick<
  Config,
  'routing' | 'model_capabilities' | 'admission' | 'num_ctx' | 'tenants'
>

type Tenant = Config['tenants'][number]

export interface DeciderDeps {
  clock: Clock
  config(): AdmissionSettings
  rows: FleetRows
  memory: AdmissionMemory
}

/** A kept decision names at most so many workers, those that got furthest. */
const MAX_JUDGED = 16

/** A Retry-After is an estimate: nobody is told to come back in less or more than this. */
const MIN_RETRY_S = 1
const MAX_RETRY_S = 60

export class Decider {
  readonly #deps: DeciderDeps
  readonly #table = new FactTable()
  #tenants: readonly Tenant[] = []
  #tenantByName = new Map<string, Tenant>()

  constructor(deps: DeciderDeps) {
    this.#deps = deps
  }

  rulesFor(ask: Ask): SelectionRules {
    const { clock, config, memory } = this.#deps
    const { routing, model_capabilities: capabilities, num_ctx } = config()
    return {
      now: clock.mono(),
      capabilities,
      numCtxPolicy: num_ctx.policy,
      routing,
      affineTo: memory.workerOf(ask.model.key, ask.affinity),
    }
  }

  /** What mode `observe` has to say of a request on the worker that it got. */
  warnings(name: string, ask: Ask): string[] {
    const { mode, context_guard: guard } = this.#deps.config().model_capabilities
    if (mode !== 'observe' && guard !== 'observe') return []
    const row = this.#deps.rows.byName(name)
    if (row === undefined) return []
    return preflightWarnings(row, modelFactsOf(row.worker, ask.model), ask, this.rulesFor(ask))
  }

  /** What the num_ctx policy makes of a request's own on the worker that it got. */
  numCtxFor(name: string, ask: Ask): NumCtxVerdict | undefined {
    if (ask.numCtx === undefined) return undefined
    const row = this.#deps.rows.byName(name)
    if (row === undefined) return undefined
    const rules = this.rulesFor(ask)
    const facts = contextFactsOf(row, modelFactsOf(row.worker, ask.model), ask, rules)
    return judgeNumCtx(ask.numCtx, facts, rules.numCtxPolicy)
  }

  /** What a request without a num_ctx gets there now; undefined where there is no such worker. */
  contextOn(name: string, modelKey: string): ContextOn | undefined {
    const row = this.#deps.rows.byName(name)
    if (row === undefined) return undefined
    const { model_capabilities: capabilities } = this.#deps.config()
    const model = { key: modelKey, display: modelKey, cloud: false, local: false }
    const known = modelFactsOf(row.worker, model)
    const facts = contextFactsOf(row, known, { model }, { capabilities })
    return { ...effectiveContext(facts, undefined), limit: limitedBy(facts, undefined) }
  }

  /** Over the whole fleet. */
  judgement(ask: Ask): Judgement & { candidates: readonly Row[] } {
    const candidates = this.#deps.rows.all()
    const rules = this.rulesFor(ask)
    const facts = this.#table.factsOf(candidates, ask.model)
    const choice = choose({ candidates, facts }, ask, rules)
    return { candidates, facts, choice, ask, rules }
  }

  /** Judges many within one step: requests that every gate answers alike are judged once. */
  judgements(): (ask: Ask) => Judgement {
    const known = new Map<string, Judgement>()
    return (ask) => {
      const alike = likenessOf(ask)
      const judgement = known.get(alike) ?? this.judgement(ask)
      known.set(alike, judgement)
      return judgement
    }
  }

  /** Over some rows only; whether unknown inventories may be used is known from before. */
  judgementOver(rows: readonly Row[], ask: Ask, knownOnly: boolean): Judgement {
    const rules = this.rulesFor(ask)
    const field = { candidates: rows, facts: this.#factsOn(rows, ask) }
    return { ...field, choice: choose(field, ask, rules, knownOnly), ask, rules }
  }

  /** False where the worker can take no request for the model just now, whatever it needs. */
  mayHost({ worker, slots, index }: Row, model: ModelName): boolean {
    const facts = this.#table.factsOf(this.#deps.rows.all(), model)[index]
    if (facts === undefined) return false
    const { verdict, presence, cloud } = facts
    if (!verdict.allowed || (presence === 'missing' && !cloud)) return false
    if ((slots.holds.get(model.key) ?? 0) > this.#deps.clock.mono()) return false
    return (slots.models.get(model.key) ?? 0) < modelLimit(worker.config, model.key)
  }

  #factsOn(rows: readonly Row[], { model }: Ask): Field['facts'] {
    const all = this.#table.factsOf(this.#deps.rows.all(), model)
    return rows.map(({ worker, index }) => all[index] ?? modelFactsOf(worker, model))
  }

  decision(judgement: Judgement, outcome: Decision['outcome'], most = MAX_JUDGED): Decision {
    const { candidates, choice } = judgement
    return {
      at: this.#deps.clock.mono(),
      outcome,
      worker: outcome === 'granted' ? candidates[choice.index]?.worker.name : undefined,
      judged: noteJudged(judgement, most),
    }
  }

  placeOf(ask: Ask): Place {
    const tenant = this.tenant(ask.tenant)
    const background = ask.priority === 'background' || tenant?.priority === 'background'
    return {
      tenant: ask.tenant,
      weight: tenant?.weight ?? 1,
      actor: ask.actor,
      cost: Math.max(1, ask.cost),
      priority: background ? 'background' : 'interactive',
      enteredAt: ask.enteredAt,
    }
  }

  tenant(name: string): Tenant | undefined {
    const { tenants } = this.#deps.config()
    if (tenants !== this.#tenants) {
      this.#tenants = tenants
      this.#tenantByName = new Map(tenants.map((tenant) => [tenant.name, tenant]))
    }
    return this.#tenantByName.get(name)
  }

  /** Whole seconds until a place may be free: what runs and waits, over the slots for the model. */
  retryAfterS({ candidates, choice, ask }: Judgement, waiting: number): number {
    const { key } = ask.model
    let slots = 0
    for (const [i, { worker }] of candidates.entries()) {
      if ((choice.gates[i] ?? 0) >= WORTH_WAITING) slots += modelLimit(worker.config, key)
    }
    const ms = (this.#deps.memory.serviceMs(key) * (waiting + 1)) / Math.max(1, slots)
    return Math.min(MAX_RETRY_S, Math.max(MIN_RETRY_S, Math.ceil(ms / 1000)))
  }
}

/** A new request waits for what is busy or not probed yet; what is absent fails at once. */
export function isWorthWaiting({ furthest }: Choice): boolean {
  return furthest >= WORTH_WAITING
}

/** One that waits already also stays for an open breaker: its worker may be back in seconds. */
export function isWorthStaying({ gates }: Choice): boolean {
  return gates.some((gate) => gate >= WORTH_WAITING || gate === STOPPED_BY.breaker)
}

function likenessOf({ model, needs, numCtx, contextTokens, answerTokens, failed }: Ask): string {
  const tried = [...failed.keys()].join('\n')
  return JSON.stringify([model.key, needs, numCtx, contextTokens, answerTokens, tried])
}
