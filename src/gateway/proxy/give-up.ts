// What a client is told once no further attempt is made: decided by what the attempts met.

import { GatewayError } from '../errors.ts'
import type { FaultCode, WorkerReason } from '../errors.ts'
import type { AttemptFailure } from '../policy/retry.ts'

/** As the last failure: of these the gateway says more than a worker's error before it. */
const IN_OWN_WORDS: ReadonlySet<AttemptFailure['kind']> = new Set([
  'missing_model',
  'transport',
  'silent',
  'timeout',
])

/** Whether a worker's own error, where there was one, is what the client gets. */
export function refusalStands(failures: readonly AttemptFailure[]): boolean {
  const last = failures.at(-1)
  return last === undefined || !IN_OWN_WORDS.has(last.kind)
}

/** Otherwise the gateway's own words, by their code. */
export function codeOf(
  failures: readonly AttemptFailure[],
): 'model_not_installed' | 'attempts_timed_out' | 'attempts_failed' {
  if (failures.at(-1)?.kind === 'missing_model') return 'model_not_installed'
  const timedOut = failures.some(({ kind }) => kind === 'silent' || kind === 'timeout')
  return timedOut ? 'attempts_timed_out' : 'attempts_failed'
}

const STILL_HOPE: ReadonlySet<FaultCode> = new Set([
  'queue_timeout',
  'queue_full',
  'cancelled_by_operator',
  'shutting_down',
])

/** Whether admission refuses because no worker is left: after an attempt that one says why. */
export function saysNobodyIsLeft(error: unknown): error is GatewayError {
  return error instanceof GatewayError && !STILL_HOPE.has(error.fault.code)
}

/** Why each worker could not take the request, as admission says it. */
export function workersOf({ fault }: GatewayError): readonly WorkerReason[] {
  return 'workers' in fault ? fault.workers : []
}
