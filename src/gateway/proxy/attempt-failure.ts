// Names for the ways an attempt fails, for the retry rules and for the people who read errors.

import { brokeAfterReuse } from '../fleet/reused-socket.ts'
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
    case 'unreadable_error':
      return `answered ${fault.status} with an unreadable error body`
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
