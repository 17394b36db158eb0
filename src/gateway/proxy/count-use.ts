// What one attempt used, told to admission before its slot goes back: shares between tenants are of
// real tokens.

import type { Lease } from '../admission/ask.ts'
import type { ActiveRequest } from './active-requests.ts'
import type { InferenceRequest } from './inference-deps.ts'
import { tokensOf } from './request-outcome.ts'
import type { Outcome } from './request-outcome.ts'

interface Counted {
  active: ActiveRequest
  request: InferenceRequest
}

/** Undefined, as the attempt says it: it failed before a byte, and used nothing. */
export async function countUse(
  lease: Lease,
  { active, request }: Counted,
  attempt: Promise<Outcome | undefined>,
): Promise<Outcome | undefined> {
  // What is thrown is a client that left: it used what came until then.
  let outcome: Outcome | undefined = { kind: 'client_gone' }
  try {
    outcome = await attempt
    return outcome
  } finally {
    const used = outcome && tokensOf(outcome, active, request)
    lease.used(used === undefined ? 0 : used.promptTokens + used.outputTokens)
  }
}
