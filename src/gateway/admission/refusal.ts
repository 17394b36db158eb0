// What a client is told when no worker passed: the gate of the worker that got furthest decides,
// and every worker's reason is named.

import { GatewayError } from '../errors.ts'
import type { Fault, WorkerReason } from '../errors.ts'
import { nextTryAt } from '../policy/breaker.ts'
import { STOPPED_BY } from '../policy/eligibility.ts'
import type { Candidate, ContextFault } from '../policy/eligibility.ts'
import { contextFaultOn, missingOn, reasonOf } from '../policy/eligibility-reasons.ts'
import { modelFactsOf } from '../policy/model-facts.ts'
import { furthestFirst } from '../policy/selection.ts'
import type { Judgement } from '../policy/selection.ts'

export function refusalOf(judgement: Judgement): GatewayError {
  return new GatewayError(faultOf(judgement))
}

/** Every worker's reason, those that got furthest first, at most `most`. */
export function reasonsOf(
  { candidates, choice, ask, rules }: Judgement,
  most = candidates.length,
): WorkerReason[] {
  return furthestFirst(choice, most).flatMap((i) => {
    const candidate = candidates[i]
    if (candidate === undefined) return []
    const reason = reasonOf(choice.gates[i] ?? 0, candidate, ask, rules)
    return [{ worker: candidate.worker.name, reason }]
  })
}

function faultOf(judgement: Judgement): Fault {
  const { choice, ask, rules } = judgement
  const model = ask.model.display
  const workers = reasonsOf(judgement)
  switch (choice.furthest) {
    case STOPPED_BY.placement: {
      const code = isCloudRefusal(judgement) ? 'model_is_cloud' : 'model_blocked'
      return { code, model, workers }
    }
    case STOPPED_BY.inventory:
      return { code: 'model_not_installed', model, workers }
    case STOPPED_BY.capability: {
      const missing = new Set(furthestOf(judgement).flatMap((one) => missingOn(one, ask)))
      return { code: 'capability_missing', model, missing: [...missing], workers }
    }
    case STOPPED_BY.context:
      return contextFault(judgement, workers)
    default:
      return {
        code: 'no_worker_up',
        model,
        workers,
        retryAfterS: retryAfterS(judgement, rules.now),
      }
  }
}

function isCloudRefusal(judgement: Judgement): boolean {
  const { ask } = judgement
  return (
    ask.model.cloud ||
    furthestOf(judgement).some(
      ({ worker }) => modelFactsOf(worker, ask.model).verdict.decidedBy.kind === 'cloud',
    )
  )
}

/** The most that any worker would take; a num_ctx that is too large everywhere is its own fault. */
function contextFault(judgement: Judgement, workers: WorkerReason[]): Fault {
  const { ask, rules } = judgement
  const model = ask.model.display
  const faults = furthestOf(judgement)
    .map((one) => contextFaultOn(one, ask, rules))
    .filter((fault): fault is ContextFault => fault !== undefined)
  const tooLong = faults.filter((fault) => fault.kind === 'too_long')
  const widest = tooLong.toSorted((a, b) => b.max - a.max)[0]
  if (widest === undefined) {
    const detail = faults[0]?.kind === 'num_ctx' ? faults[0].detail : 'it is not allowed here'
    return { code: 'num_ctx_invalid', model, detail }
  }
  const { needed: tokensNeeded, max: tokensMax } = widest
  return { code: 'context_too_long', model, tokensNeeded, tokensMax, workers }
}

function furthestOf({ candidates, choice }: Judgement): Candidate[] {
  return candidates.filter((_, i) => choice.gates[i] === choice.furthest)
}

/** Whole seconds until the first of the workers in question may be back, at least 1. */
function retryAfterS(judgement: Judgement, now: number): number {
  const { candidates, choice, ask } = judgement
  let soonest = Number.POSITIVE_INFINITY
  for (const [i, { worker }] of candidates.entries()) {
    const gate = choice.gates[i]
    if (gate === STOPPED_BY.up) soonest = Math.min(soonest, worker.nextProbeAt ?? soonest)
    if (gate !== STOPPED_BY.breaker) continue
    const cooled = worker.loadCoolDowns.get(ask.model.key)?.until ?? 0
    soonest = Math.min(soonest, Math.max(nextTryAt(worker.breaker) ?? 0, cooled))
  }
  return Number.isFinite(soonest) ? Math.max(1, Math.ceil((soonest - now) / 1000)) : 1
}
