// Which waiter goes next, and where: the first in fair order that one of the free workers may take;
// but a waiter for a model that is loaded there goes before one that would evict it, within a bound.

import { isWarm } from '../policy/eligibility.ts'
import { modelFactsOf } from '../policy/model-facts.ts'
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
  /** False for a waiter whose tenant has as many in flight as it may. */
  mayGo(waiter: Waiter): boolean
  judge(waiter: Waiter, candidates: readonly Row[]): Judgement
}

export function nextGrant(
  free: readonly Row[],
  queue: WaitQueue,
  rules: GrantRules,
): Grant | undefined {
  let loading: Grant | undefined
  for (const waiter of queue.inOrder()) {
    if (waiter.signal.aborted || !rules.mayGo(waiter)) continue
    const judgement = rules.judge(waiter, loading === undefined ? free : [loading.row])
    const row = loading?.row ?? free[judgement.choice.index]
    if (row === undefined || judgement.choice.index < 0) continue
    const grant = { waiter, row, judgement }
    const warm = isWarm(row.slots, modelFactsOf(row.worker, waiter.ask.model), waiter.ask)
    if (loading === undefined) {
      if (warm || !mayEvictWanted(row, queue) || !mayBePassedOver(waiter, rules.now)) return grant
      loading = grant
    } else if (warm) {
      loading.waiter.overtaken += 1
      loading.waiter.overtakenSince ??= rules.now
      return grant
    }
  }
  return loading
}

/** A load may evict any model that is resident there; it matters only if somebody waits for it. */
function mayEvictWanted({ worker: { loaded } }: Row, queue: WaitQueue): boolean {
  if (loaded.state === 'unknown') return false
  for (const key of loaded.models.keys()) if (queue.waitingFor(key) > 0) return true
  return false
}
