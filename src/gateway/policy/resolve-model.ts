// Which model a request means: aliases first, so that every rule is asked of the model that will
// run; explicit fallbacks when that one cannot. Never a silent change.

import { valueFor } from './pattern-table.ts'
import { parseModelName } from './model-name.ts'
import type { ModelName, ParsedName } from './model-name.ts'

export type Aliases = Readonly<Record<string, string>>

export interface FallbackRule {
  model: string
  missing?: readonly string[] | undefined
  when?: 'absent' | undefined
  use: string
}

/** Why the model itself cannot run. */
export type Obstacle = { kind: 'missing'; missing: readonly string[] } | { kind: 'absent' }

/** Longer chains are a mistake that the config check would have to have missed. */
const MAX_STEPS = 8

/** The model a client's spelling means; `aliased` where it is called otherwise. */
export function resolveModel(aliases: Aliases, raw: string): ParsedName & { aliased: boolean } {
  const table = keyed(aliases)
  let parsed = parseModelName(raw)
  let aliased = false
  for (let step = 0; parsed.ok && step < MAX_STEPS; step += 1) {
    const target = table.get(parsed.name.key)
    if (target === undefined) break
    parsed = parseModelName(target)
    aliased = true
  }
  return { ...parsed, aliased }
}

/** What runs instead, by the first rule that fits; undefined: the request is refused. */
export function fallbackFor(
  rules: readonly FallbackRule[],
  name: ModelName,
  obstacle: Obstacle,
): ModelName | undefined {
  for (const rule of rules) {
    if (!fits(rule, obstacle) || valueFor({ [rule.model]: 1 }, name.key) === undefined) continue
    const parsed = parseModelName(rule.use)
    if (parsed.ok && parsed.name.key !== name.key) return parsed.name
  }
  return undefined
}

function fits({ missing, when }: FallbackRule, obstacle: Obstacle): boolean {
  if (obstacle.kind === 'absent') return when === 'absent'
  return missing !== undefined && obstacle.missing.some((need) => missing.includes(need))
}

const tables = new WeakMap<Aliases, ReadonlyMap<string, string>>()

function keyed(aliases: Aliases): ReadonlyMap<string, string> {
  const known = tables.get(aliases)
  if (known !== undefined) return known
  const table = new Map<string, string>()
  for (const [alias, target] of Object.entries(aliases)) {
    const parsed = parseModelName(alias)
    if (parsed.ok) table.set(parsed.name.key, target)
  }
  tables.set(aliases, table)
  return table
}
