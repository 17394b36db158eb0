// Which waiter goes next, and where: the first in fair order that one of the free workers may take;
// but a waiter for a model that is loaded there goes before one that would evict it, within a bound.

import { isWarm } from '../policy/eligibility.ts'
import { modelFactsOf } from '../policy/model-facts.ts'
import type { ModelName } from '../policy/model-name.ts'
import type { Judgement } from '../policy/selection.ts'
import type { Row } from './fleet-rows.ts'
import { mayBePassedOver } from './queue.ts'
import type { Waiter, WaitQueue } from './queue.ts'

export interface Grant {
  waiter: Waiter
  row: Row
  judgement: Judgement
}

export interface GrantRules {
  now: number
  /** False for a waiter that has left, or whose tenant has as many in flight as it may. */
  mayGo(waiter: Waiter): boolean
  /** False where the worker can take no request for the model just now. */
  mayHost(row: Row, model: ModelName): boolean
  judge(waiter: Waiter, candidates: readonly Row[]): Judgement
}

export function nextGrant(
  free: readonly Row[],
  queue: WaitQueue,
  rules: GrantRules,
): Grant | undefined {
  const hosted = hostedModels(free, queue, rules)
  if (hosted.size === 0) return undefined
  let loading: Grant | undefined
  for (const waiter of queue.inOrder()) {
    if (!hosted.has(waiter.ask.model.key) || !rules.mayGo(waiter)) continue
    const judgement = rules.judge(waiter, loading === undefined ? free : [loading.row])
    const row = loading?.row ?? free[judgement.choice.index]
    if (row === undefined || judgement.choice.index < 0) continue
    const grant = { waiter, row, judgement }
    const facts = modelFactsOf(row.worker, waiter.ask.model)
    const warm = isWarm(row, facts, waiter.ask, judgement.rules)
    if (loading === undefined) {
      if (warm || !letsLoadedGoFirst(grant, queue, rules.now)) return grant
      loading = grant
    } else if (warm) {
      loading.waiter.overtaken += 1
      loading.waiter.overtakenSince ??= rules.now
      return grant
    }
  }
  return loading
}

/** A slot that comes free is of no use to most of a long queue, which is seen by its models. */
function hostedModels(
  free: readonly Row[],
  queue: WaitQueue,
  { mayHost }: GrantRules,
): ReadonlySet<string> {
  const models = queue.models().filter((model) => free.some((row) => mayHost(row, model)))
  return new Set(models.map(({ key }) => key))
}

/** A load may evict any model that is resident there; it matters only if somebody waits for it. */
function letsLoadedGoFirst({ waiter, row }: Grant, queue: WaitQueue, now: number): boolean {
  const { loaded } = row.worker
  if (loaded.state === 'unknown' || !mayBePassedOver(waiter, now)) return false
  for (const key of loaded.models.keys()) if (queue.waitingFor(key) > 0) return true
  return false
}
