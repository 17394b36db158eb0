// Who sent a request, as far as a key or the lack of one says: the tenant, what the key may do,
// and which models it may use. Pure: model lists are resolved by the same engine as placement.

import { GatewayError } from '../errors.ts'
import type { ModelName } from '../policy/model-name.ts'
import { compilePlacement, decidePlacement, describeVerdict } from '../policy/placement.ts'
import type { CompiledPlacement } from '../policy/placement.ts'

export type Scope = 'read' | 'infer' | 'manage'

/** One list that binds a visitor: its tenant's or its key's. */
export interface ModelList {
  owner: string
  rules: CompiledPlacement
}

/** Undefined: every model. One object per key while nothing changes, so that it can key caches. */
export type ModelAccess = readonly ModelList[] | undefined

export interface Visitor {
  tenant: string
  /** Undefined where no key was needed and none was known. */
  keyId: string | undefined
  scope: Scope
  /** The user headers of Open WebUI are believed. */
  trustsHeaders: boolean
  models: ModelAccess
}

/** Before anybody has looked: may see what anybody may see. */
export const NOBODY: Visitor = {
  tenant: 'default',
  keyId: undefined,
  scope: 'read',
  trustsHeaders: false,
  models: undefined,
}

const RANK: Readonly<Record<Scope, number>> = { read: 0, infer: 1, manage: 2 }

/** Each scope holds those before it. */
export function holds(scope: Scope, needed: Scope): boolean {
  return RANK[scope] >= RANK[needed]
}

interface WrittenList {
  owner: string
  allowed: readonly string[]
  denied: readonly string[]
}

/** What is not on a list is not allowed; a list of `*` without denials binds nobody. */
export function modelAccessOf(lists: readonly WrittenList[]): ModelAccess {
  const binding = lists.filter(({ allowed, denied }) => denied.length > 0 || !allowed.includes('*'))
  if (binding.length === 0) return undefined
  return binding.map(({ owner, allowed, denied }) => ({
    owner,
    rules: compilePlacement({ mode: 'whitelist', allowed_models: allowed, denied_models: denied }),
  }))
}

/**
 * The list that forbids a model and the rule that decided; undefined = it is allowed. That a model
 * would run in Ollama's cloud is placement's business alone.
 */
function forbiddenBy(models: ModelAccess, key: string): string | undefined {
  for (const { owner, rules } of models ?? []) {
    const verdict = decidePlacement(rules, key, { cloud: false })
    if (verdict.allowed) continue
    const rule = describeVerdict(verdict).replace('placement ', '')
    return `${owner}: ${rule === 'mode whitelist' ? 'it is not on the list' : rule}`
  }
  return undefined
}

export function mayUse(models: ModelAccess, key: string): boolean {
  return models === undefined || forbiddenBy(models, key) === undefined
}

/** Throws GatewayError forbidden. `name` is the model that will run. */
export function permitModel({ models }: Visitor, name: ModelName): void {
  const by = forbiddenBy(models, name.key)
  if (by === undefined) return
  const detail = `model "${name.display}" is not allowed for you by the model list of ${by}`
  throw new GatewayError({ code: 'forbidden', detail })
}
