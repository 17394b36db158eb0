// What `observe` says instead of refusing: the same judgement as the gates', in a sentence for the
// client's x-ogw-warning and for the log.

import type { Ask } from './ask.ts'
import { missingCapabilities } from './capability.ts'
import { capabilitiesOf, contextFactsOf, contextFaultOf } from './eligibility.ts'
import type { Candidate, GateRules } from './eligibility.ts'
import type { ModelFacts } from './model-facts.ts'

/** Empty in the modes that refuse or say nothing. */
export function preflightWarnings(
  candidate: Candidate,
  facts: ModelFacts,
  ask: Ask,
  rules: GateRules,
): string[] {
  const { mode, context_guard: guard } = rules.capabilities
  const worker = candidate.worker.name
  const warnings: string[] = []
  if (mode === 'observe') {
    const missing = missingCapabilities(ask.needs, capabilitiesOf(facts))
    if (missing.length > 0) {
      warnings.push(`${ask.model.display} does not support ${missing.join(', ')} on ${worker}`)
    }
  }
  if (guard !== 'observe') return warnings
  const fault = contextFaultOf(ask, contextFactsOf(candidate, facts, ask, rules), rules)
  if (fault?.kind === 'num_ctx') warnings.push(`num_ctx: ${fault.detail}`)
  if (fault?.kind === 'too_long') {
    const { needed, max } = fault
    warnings.push(`about ${needed} tokens may not fit the ${max} of context on ${worker}`)
  }
  return warnings
}
