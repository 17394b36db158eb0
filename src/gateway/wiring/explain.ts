// What would become of a request now, as an operator asks it: judged like one that waits for nobody.

import type { ExplainAnswer, ExplainQuestion } from '../admin/handlers/requests.ts'
import type { Ask } from '../admission/ask.ts'
import { permitModel } from '../access/visitor.ts'
import { GatewayError } from '../errors.ts'
import type { ModelName } from '../policy/model-name.ts'
import { resolveModel } from '../policy/resolve-model.ts'
import type { AccessState } from './access.ts'
import type { GatewayParts } from './parts.ts'

export const question = (model: string): ExplainQuestion => ({
  model,
  tools: false,
  vision: false,
  contextTokens: undefined,
  key: undefined,
})

/** Throws GatewayError for what is no model, and for a key that nobody has made. */
export function explain(
  { parts, access }: { parts: GatewayParts; access: Pick<AccessState, 'gatekeeper'> },
  asked: ExplainQuestion,
): ExplainAnswer {
  const { scheduler, clock, config } = parts
  const parsed = resolveModel(config().aliases, asked.model)
  if (!parsed.ok) throw new GatewayError({ code: 'invalid_request', detail: parsed.reason })
  const { tenant, forbidden } = askerOf(access, asked.key, parsed.name)
  const now = clock.mono()
  const ask: Ask = {
    requestId: 'explain',
    model: parsed.name,
    needs: [
      ...(asked.tools ? (['tools'] as const) : []),
      ...(asked.vision ? (['vision'] as const) : []),
    ],
    contextTokens: asked.contextTokens,
    numCtx: undefined,
    cost: 1,
    tenant,
    actor: 'explain',
    priority: 'interactive',
    affinity: undefined,
    keepsAlive: false,
    waitUntil: now,
    enteredAt: now,
    failed: new Map(),
  }
  const { decision, refusal } = scheduler.explain(ask)
  const { display, key, cloud } = parsed.name
  return {
    model: display,
    askedModel: parsed.aliased ? asked.model : undefined,
    localKey: cloud ? undefined : key,
    // Whoever may not use the model is refused before any worker is judged; operators see both.
    decision:
      forbidden === undefined ? decision : { ...decision, outcome: 'refused', worker: undefined },
    refusal: forbidden ?? refusal,
  }
}

interface Asker {
  tenant: string
  /** What the key would be told before any worker is judged. */
  forbidden: GatewayError | undefined
}

function askerOf(
  { gatekeeper }: Pick<AccessState, 'gatekeeper'>,
  keyId: string | undefined,
  name: ModelName,
): Asker {
  if (keyId === undefined) return { tenant: 'default', forbidden: undefined }
  const judged = gatekeeper.judgeId(keyId)
  if (judged === undefined) {
    const detail = `there is no key with the id "${keyId}"`
    throw new GatewayError({ code: 'unauthorized', detail })
  }
  if ('refused' in judged) {
    const forbidden = new GatewayError({ code: 'unauthorized', detail: judged.refused })
    return { tenant: 'default', forbidden }
  }
  const { visitor } = judged
  try {
    permitModel(visitor, name)
    return { tenant: visitor.tenant, forbidden: undefined }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { tenant: visitor.tenant, forbidden: error }
  }
}
