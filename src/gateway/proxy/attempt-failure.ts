// Names for the ways an attempt fails, for the retry rules and for the people who read errors.

import { brokeAfterReuse } from '../fleet/reused-socket.ts'
import type { WorkerFault } from '../fleet/worker-faults.ts'
import type { AttemptFailure } from '../policy/retry.ts'
import type { AttemptFault, AttemptResult } from './attempt-result.ts'

export function failureOf(fault: AttemptFault): AttemptFailure {
  switch (fault.cause) {
    case 'absent':
      return { kind: 'silent' }
    case 'timeout':
      return { kind: 'timeout' }
    case 'transport':
    case 'empty':
    case 'redirect':
    case 'web_page':
    case 'unreadable_error':
      return { kind: 'transport' }
  }
}

export function reasonOf(fault: AttemptFault): string {
  switch (fault.cause) {
    case 'transport':
      return fault.detail
    case 'absent':
      return `silent for ${seconds(fault.silentMs)} and its probe failed: ${fault.detail}`
    case 'timeout':
      return `no first byte within ${seconds(fault.silentMs)} (upstream.first_byte_timeout)`
    case 'empty':
      return 'empty response from worker'
    case 'redirect':
      return `answered with a redirect (${fault.status}), which is never followed`
    case 'web_page':
      return 'answered with a web page (text/html), as a proxy or a login page does'
    case 'unreadable_error':
      return `answered ${fault.status} with an unreadable error body`
  }
}

/** How an attempt failed, and what operators and clients are told of it. */
export interface Failing {
  failure: AttemptFailure
  reason: string
}

/** A worker's error as a failed attempt. Undefined: any other worker would say the same. */
export function failingOf(fault: WorkerFault, status: number): Failing | undefined {
  switch (fault) {
    case 'missing_model':
      return {
        failure: { kind: 'missing_model' },
        reason: 'says that it does not have the model',
      }
    case 'busy':
      return { failure: { kind: 'busy' }, reason: '' }
    case 'load_failed':
    case 'out_of_memory':
    case 'runner_died':
      return {
        failure: { kind: 'load_failed' },
        reason: `answered ${status} (${fault.replaceAll('_', ' ')})`,
      }
    case 'client_fault':
    case 'other':
      return status === 502 || status === 503 || status === 504
        ? { failure: { kind: 'worker_error' }, reason: `answered ${status}` }
        : undefined
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`

/**
 * The request was written onto a pooled connection that the worker was just closing: it was not
 * processed, and may be sent once more on a new connection (ollama-api.md T41).
 */
export function isStaleSocket(result: AttemptResult): boolean {
  if (result.kind !== 'failed' || result.fault.cause !== 'transport') return false
  const { answered, error } = result.fault
  return !answered && brokeAfterReuse(error)
}

/** What broke, with its code where it has one. */
export function textOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : ''
  return `${code}${error.message}`.slice(0, 300)
}
