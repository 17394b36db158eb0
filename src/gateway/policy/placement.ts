// Placement decides on which workers a model may run. It is a hard rule: it is asked before any
// scoring, and no score can overturn it.
//
// Everything here is a pure function of its arguments: no clock, no I/O, no log. A policy is
// compiled once, when it changes, because the scheduler asks once per worker per request: a lookup
// costs the same for two rules as for two thousand. Tenants' model lists use the same engine.

import { parsePattern } from './model-name.ts'

/** The rules of one worker, as config and state files write them. */
export interface PlacementRules {
  readonly mode: 'allow_all' | 'whitelist'
  readonly allowed_models: readonly string[]
  readonly denied_models: readonly string[]
}

/** What decided a verdict, from the most to the least specific. */
export type DecidedBy =
  | { kind: 'exact'; pattern: string }
  | { kind: 'prefix'; pattern: string }
  | { kind: 'mode'; mode: PlacementRules['mode'] }
  /** A cloud model without an exact allow rule: no broader rule and no mode opens it. */
  | { kind: 'cloud' }

export interface Verdict {
  allowed: boolean
  decidedBy: DecidedBy
}

export interface Rule {
  effect: 'allow' | 'deny'
  pattern: string
}

/** A verdict with every rule that matched and lost, the most specific first. */
export interface ExplainedVerdict extends Verdict {
  competing: readonly Rule[]
}

/** One prefix rule and the next shorter prefix rule of which it is an extension. */
interface PrefixRule {
  prefix: string
  verdict: Verdict
  parent: PrefixRule | undefined
}

/** A policy made ready for lookups. Make it with compilePlacement, ask it with decidePlacement. */
export interface CompiledPlacement {
  readonly rules: PlacementRules
  readonly exact: ReadonlyMap<string, Verdict>
  /** Sorted by prefix, ascending. */
  readonly prefixes: readonly PrefixRule[]
  readonly byMode: Verdict
}

/** What decides the source class of a model; a ModelName is one. */
export interface SourceClass {
  cloud: boolean
}

const CLOUD_DENIED: Verdict = { allowed: false, decidedBy: { kind: 'cloud' } }

/** Compiles rules for lookups. At equal specificity the denial is kept, because it wins a tie. */
export function compilePlacement(rules: PlacementRules): CompiledPlacement {
  const exact = new Map<string, Verdict>()
  const prefixes = new Map<string, Verdict>()
  for (const { effect, pattern } of rulesOf(rules)) {
    const isPrefix = pattern.endsWith('*')
    const allowed = effect === 'allow'
    if (isPrefix) {
      prefixes.set(pattern.slice(0, -1), { allowed, decidedBy: { kind: 'prefix', pattern } })
    } else {
      exact.set(pattern, { allowed, decidedBy: { kind: 'exact', pattern } })
    }
  }
  const { mode } = rules
  return {
    rules,
    exact,
    prefixes: linkPrefixes(prefixes),
    byMode: { allowed: mode === 'allow_all', decidedBy: { kind: 'mode', mode } },
  }
}

/** The exact rule wins, then the longest prefix, then the mode. A cloud model needs an exact rule. */
export function decidePlacement(
  placement: CompiledPlacement,
  key: string,
  source: SourceClass,
): Verdict {
  const exact = placement.exact.get(key)
  if (exact !== undefined) return exact
  if (source.cloud) return CLOUD_DENIED
  return longestPrefix(placement.prefixes, key)?.verdict ?? placement.byMode
}

/** The verdict with the rules that lost, for people who ask why. */
export function whyPlacement(
  placement: CompiledPlacement,
  key: string,
  source: SourceClass,
): ExplainedVerdict {
  const verdict = decidePlacement(placement, key, source)
  const competing = rulesOf(placement.rules)
    .filter(({ effect, pattern }) => matches(pattern, key) && !isDeciding(verdict, effect, pattern))
    .toSorted(
      (a, b) => specificity(b.pattern) - specificity(a.pattern) || (a.effect === 'deny' ? -1 : 1),
    )
  return { ...verdict, competing }
}

/** One sentence fragment: `placement rule deny gemma4:*`, `placement mode whitelist`. */
export function describeVerdict({ allowed, decidedBy }: Verdict): string {
  switch (decidedBy.kind) {
    case 'exact':
    case 'prefix':
      return `placement rule ${allowed ? 'allow' : 'deny'} ${decidedBy.pattern}`
    case 'mode':
      return `placement mode ${decidedBy.mode}`
    case 'cloud':
      return 'the rule that a cloud model needs an exact allow rule'
  }
}

/** `qwen3:8b` matches itself; `gemma4:*` any model so prefixed; `*` everything. */
export function matches(pattern: string, key: string): boolean {
  return pattern.endsWith('*') ? key.startsWith(pattern.slice(0, -1)) : key === pattern
}

/** All rules in normal form, allow before deny, so that the denial of one pattern comes last. */
function rulesOf(rules: PlacementRules): Rule[] {
  return [
    ...rules.allowed_models.map((text): Rule => ({ effect: 'allow', pattern: normal(text) })),
    ...rules.denied_models.map((text): Rule => ({ effect: 'deny', pattern: normal(text) })),
  ]
}

/** The borders refuse what is no pattern; should one come through, it matches only itself. */
function normal(text: string): string {
  const parsed = parsePattern(text)
  return parsed.ok ? parsed.pattern : text.toLowerCase()
}

/** An exact pattern beats every prefix, however long. */
function specificity(pattern: string): number {
  return pattern.endsWith('*') ? pattern.length - 1 : Number.POSITIVE_INFINITY
}

function isDeciding({ allowed, decidedBy }: Verdict, effect: Rule['effect'], pattern: string) {
  return (
    (decidedBy.kind === 'exact' || decidedBy.kind === 'prefix') &&
    decidedBy.pattern === pattern &&
    allowed === (effect === 'allow')
  )
}

function linkPrefixes(verdicts: ReadonlyMap<string, Verdict>): PrefixRule[] {
  const sorted: PrefixRule[] = []
  for (const prefix of [...verdicts.keys()].toSorted(byCodeUnit)) {
    let parent = sorted.at(-1)
    while (parent !== undefined && !prefix.startsWith(parent.prefix)) parent = parent.parent
    const verdict = verdicts.get(prefix)
    if (verdict !== undefined) sorted.push({ prefix, verdict, parent })
  }
  return sorted
}

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/**
 * In sorted order the greatest prefix that is not above the key is the match itself or an
 * extension of it or of something shorter; walking up its parents finds the longest that matches.
 */
function longestPrefix(prefixes: readonly PrefixRule[], key: string): PrefixRule | undefined {
  let low = 0
  let high = prefixes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const rule = prefixes[middle]
    if (rule !== undefined && rule.prefix <= key) low = middle + 1
    else high = middle
  }
  let rule = prefixes[low - 1]
  while (rule !== undefined && !key.startsWith(rule.prefix)) rule = rule.parent
  return rule
}
