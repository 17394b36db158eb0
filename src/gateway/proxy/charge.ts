// What a request may cost its tenant: reserved before it waits for a slot, settled when it is over.

import { GatewayError } from '../errors.ts'
import type { CreditLedger, Reservation } from '../policy/credits.ts'
import type { InferenceRequest } from './inference-deps.ts'
import { estimateTokens, UNKNOWN_OUTPUT_TOKENS } from './token-estimate.ts'

/** Coding agents always ask for 32,000 tokens of output and rarely take a tenth of them. */
const MAX_RESERVED_OUTPUT = 4096

/** Throws GatewayError credits_spent. Undefined for what is no inference. `now`: wall clock. */
export function chargeFor(
  ledger: CreditLedger,
  { facts, identity }: InferenceRequest,
  now: number,
): Reservation | undefined {
  if (facts.kind !== 'inference') return undefined
  const output = Math.min(facts.outputTokens ?? UNKNOWN_OUTPUT_TOKENS, MAX_RESERVED_OUTPUT)
  const tokens = Math.max(1, estimateTokens(facts) + output)
  const { tenant, account } = identity
  const answer = ledger.reserve({ tenant, account }, tokens)
  if (answer.ok) return answer.reservation
  const retryAfterS = Math.max(1, Math.ceil((answer.resetAtMs - now) / 1000))
  const whose = answer.who === 'tenant' ? `tenant "${tenant}"` : `"${account}"`
  const at = new Date(answer.resetAtMs).toISOString()
  const detail = `the credits of ${whose} do not cover this request (about ${tokens} tokens); they are counted anew from ${at}`
  throw new GatewayError({ code: 'credits_spent', detail, retryAfterS })
}
