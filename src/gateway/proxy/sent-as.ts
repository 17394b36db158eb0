// How a request is sent to the worker it got: the client's bytes, with the values replaced that an
// alias, a fallback or a policy of the operator replaces; and how the answer is put right again.

import type { Ask } from '../admission/ask.ts'
import { keepAliveNs } from '../dialects/keep-alive.ts'
import { createModelRewriter } from '../dialects/model-rewriter.ts'
import type { ModelRewriter } from '../dialects/model-rewriter.ts'
import { governKeepAlive } from '../policy/keep-alive.ts'
import type { InferenceDeps, InferenceRequest } from './inference-deps.ts'
import type { BodyEdits } from './upstream-request.ts'

export interface SentAs {
  edits: BodyEdits
  warnings: readonly string[]
  /** Made anew for each attempt; undefined where the answer stays as it is. */
  rewriter(): ModelRewriter | undefined
}

export function sentAs(
  deps: InferenceDeps,
  request: InferenceRequest,
  worker: string,
  ask: Ask,
): SentAs {
  const { facts, means } = request
  const warnings = [...request.identity.warnings, ...deps.warnings(worker, ask)]
  const model = modelFor(deps, request, worker)
  const edits: BodyEdits = { model: model === undefined ? undefined : JSON.stringify(model) }
  if (facts.keepAlive !== undefined) {
    edits.keepAlive = governKeepAlive(deps.config().keep_alive, keepAliveNs(facts.keepAlive))
    if (edits.keepAlive !== undefined) warnings.push(`keep_alive became ${edits.keepAlive}`)
  }
  const numCtx = deps.numCtxFor(worker, ask)
  if (numCtx?.ok === true && numCtx.numCtx !== ask.numCtx) {
    edits.numCtx = String(numCtx.numCtx)
    if (numCtx.warning !== undefined) warnings.push(numCtx.warning)
  }
  return {
    edits,
    warnings,
    rewriter: () =>
      means === 'alias' && model !== undefined
        ? createModelRewriter(model, facts.model)
        : undefined,
  }
}

/** The worker's spelling; undefined where the client's own is sent. */
function modelFor(
  deps: InferenceDeps,
  { means, name, ctx }: InferenceRequest,
  worker: string,
): string | undefined {
  // The legacy route alone compares names with case (ollama-api.md T22).
  if (means === 'itself' && ctx.path !== '/api/embeddings') return undefined
  return deps.spelling(worker, name.key) ?? (means === 'itself' ? undefined : name.display)
}
