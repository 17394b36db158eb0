// Whether a prompt fits the context that a worker gives a model. Ollama cuts what does not fit
// without a word, so this guard is the only way for a client to hear of it. It is conservative on
// purpose: near the limit it may refuse what would just have fitted.

/** What is known of one model's context on one worker; undefined = unknown, all in tokens. */
export interface ContextFacts {
  /** context_length of the resident model. */
  loaded: number | undefined
  /** The num_ctx of the request that loaded it; without one, Ollama would reload to its default. */
  loadedByNumCtx: number | undefined
  modelfile: number | undefined
  /** default_context_tokens of the worker. */
  workerDefault: number | undefined
  /** default_worker_tokens: a guess that speaks where nothing else does. */
  guess: number
  /** The trained maximum. */
  modelMax: number | undefined
  /** context_limits of the worker for this model. */
  workerLimit: number | undefined
  /** max_requested_tokens of the gateway. */
  gatewayLimit: number
}

export type ContextSource = 'num_ctx' | 'loaded' | 'modelfile' | 'worker' | 'guess'

export interface EffectiveContext {
  tokens: number
  source: ContextSource
}

/** What lowers a context that its source alone would have made larger. */
export type ContextLimit = 'model' | 'context_limits' | 'max_requested_tokens'

/** A context as operators are shown it. */
export interface ContextOn extends EffectiveContext {
  limit: ContextLimit | undefined
}

export interface ContextNeed {
  /** Prompt with margin and images. */
  promptTokens: number
  /** Output asked for; 0 where none was. At most a quarter of the context is counted. */
  answerTokens: number
}

export type ContextVerdict =
  | { fits: true; context: EffectiveContext }
  /** Only a guess speaks against it: load the model empty, then believe /api/ps. */
  | { fits: 'after_load'; context: EffectiveContext; needed: number }
  | { fits: false; context: EffectiveContext; needed: number }

/** Coding agents ask for 32,000 tokens of output whatever they expect. */
const ANSWER_SHARE = 4

/** The context that a request would get there. A valid num_ctx of its own decides before all else. */
export function effectiveContext(
  facts: ContextFacts,
  numCtx: number | undefined,
): EffectiveContext {
  const { source, tokens } = uncappedContext(facts, numCtx)
  return { source, tokens: Math.min(tokens, contextCap(facts)) }
}

/** The most that this worker may give this model, whoever asks. */
export function contextCap({ workerLimit, gatewayLimit, modelMax }: ContextFacts): number {
  return Math.min(
    gatewayLimit,
    workerLimit ?? Number.POSITIVE_INFINITY,
    modelMax ?? Number.POSITIVE_INFINITY,
  )
}

/** Undefined where the context is as large as its source says. */
export function limitedBy(
  facts: ContextFacts,
  numCtx: number | undefined,
): ContextLimit | undefined {
  return uncappedContext(facts, numCtx).tokens > contextCap(facts) ? lowestLimit(facts) : undefined
}

/** Of equal limits the one that an operator can change least. */
export function lowestLimit(facts: ContextFacts): ContextLimit {
  const cap = contextCap(facts)
  if (facts.modelMax === cap) return 'model'
  return facts.workerLimit === cap ? 'context_limits' : 'max_requested_tokens'
}

export function judgeContext(
  need: ContextNeed,
  facts: ContextFacts,
  numCtx: number | undefined,
): ContextVerdict {
  const context = effectiveContext(facts, numCtx)
  const needed = tokensNeeded(need, context.tokens)
  if (needed <= context.tokens) return { fits: true, context }
  const cap = contextCap(facts)
  if (context.source === 'guess' && tokensNeeded(need, cap) <= cap) {
    return { fits: 'after_load', context, needed }
  }
  return { fits: false, context, needed }
}

export function tokensNeeded(need: ContextNeed, context: number): number {
  return need.promptTokens + Math.min(need.answerTokens, Math.floor(context / ANSWER_SHARE))
}

export interface EstimateRules {
  /** Learned per model, else DEFAULT_CHARS_PER_TOKEN. */
  charsPerToken: number
  marginPercent: number
  reservePerImage: number
}

/** English prose has about four; code and other scripts have fewer, which the margin covers. */
export const DEFAULT_CHARS_PER_TOKEN = 4

/** Prompt tokens, margin included. Characters are counted and not tokens: this is no tokenizer. */
export function estimatePrompt(
  { promptChars, images }: { promptChars: number; images: number },
  { charsPerToken, marginPercent, reservePerImage }: EstimateRules,
): number {
  const text = promptChars / charsPerToken + images * reservePerImage
  return Math.ceil(text * (1 + marginPercent / 100))
}

export type NumCtxVerdict =
  | { ok: true; numCtx: number; warning: string | undefined }
  | { ok: false; detail: string }

/**
 * What becomes of a native num_ctx on one worker: `client` keeps it and refuses what is above the
 * caps, `clamp` lowers it, `snap` takes the size that is loaded anyway, if it suffices.
 */
export function judgeNumCtx(
  numCtx: number,
  facts: ContextFacts,
  policy: 'client' | 'snap' | 'clamp',
): NumCtxVerdict {
  const cap = contextCap(facts)
  const { loaded } = facts
  if (policy === 'snap' && loaded !== undefined && loaded >= numCtx && loaded <= cap) {
    const warning = loaded === numCtx ? undefined : `num_ctx ${numCtx} became the loaded ${loaded}`
    return { ok: true, numCtx: loaded, warning }
  }
  if (numCtx <= cap) return { ok: true, numCtx, warning: undefined }
  if (policy === 'clamp') {
    return { ok: true, numCtx: cap, warning: `num_ctx ${numCtx} was lowered to ${cap}` }
  }
  return {
    ok: false,
    detail: `${numCtx} is above the ${cap} tokens allowed here (num_ctx.policy "clamp" would lower it)`,
  }
}

/** A native num_ctx as it came: undefined and null are none, anything but a positive integer is wrong. */
export function readNumCtx(
  value: unknown,
): { ok: true; numCtx: number | undefined } | { ok: false; detail: string } {
  if (value === undefined || value === null) return { ok: true, numCtx: undefined }
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) {
    return { ok: true, numCtx: value }
  }
  return { ok: false, detail: 'it must be a positive integer' }
}

function uncappedContext(facts: ContextFacts, numCtx: number | undefined): EffectiveContext {
  const { loaded, loadedByNumCtx, modelfile, workerDefault, guess } = facts
  if (numCtx !== undefined) return { tokens: numCtx, source: 'num_ctx' }
  if (loaded !== undefined && loadedByNumCtx === undefined)
    return { tokens: loaded, source: 'loaded' }
  if (modelfile !== undefined) return { tokens: modelfile, source: 'modelfile' }
  if (workerDefault !== undefined) return { tokens: workerDefault, source: 'worker' }
  return { tokens: guess, source: 'guess' }
}
