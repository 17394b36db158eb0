// What an operator's edit makes of the placement rules of the workers it names.
//
// Pure: rules in, rules out. An override replaces a worker's whole rule set, so that the first edit
// begins with a copy of the baseline. Patterns are compared in normal form: `library/Qwen3:8B` and
// `qwen3:8b` are one rule.

import { parsePattern } from './model-name.ts'
import { compilePlacement, decidePlacement, describeVerdict } from './placement.ts'
import type { PlacementRules, SourceClass } from './placement.ts'

/** Undefined = no override: the baseline holds. */
export type Override = PlacementRules | undefined

export type Preset = 'only-installed' | 'block-all' | 'allow-all'

/** One cell of the matrix; `key` is canonical. */
export interface CellModel extends SourceClass {
  key: string
}

export type Edit =
  | { kind: 'allow' | 'deny' | 'clear'; pattern: string }
  | { kind: 'toggle'; model: CellModel }
  | { kind: 'mode'; mode: PlacementRules['mode'] }
  /** `installed` are canonical keys; undefined = the inventory was never read. */
  | { kind: 'preset'; preset: Preset; installed: readonly string[] | undefined }
  | { kind: 'set'; rules: PlacementRules }
  | { kind: 'reset' }

export interface Edited {
  /** The override after the edit; the one passed in where nothing changed. */
  override: Override
  changed: boolean
  /** One sentence fragment that `on node-2` may follow: what was done, or what was so already. */
  said: string
}

export type EditResult = ({ ok: true } & Edited) | { ok: false; reason: string }

/** Edits one worker. `baseline` is what the config says of it. */
export function editPlacement(
  override: Override,
  baseline: PlacementRules,
  edit: Edit,
): EditResult {
  const before = override ?? baseline
  switch (edit.kind) {
    case 'allow':
    case 'deny':
    case 'clear':
      return editRule(override, before, edit)
    case 'toggle':
      return toggle(override, before, edit.model)
    case 'mode':
      return changed(
        override,
        before,
        { ...before, mode: edit.mode },
        {
          done: `mode ${edit.mode}`,
        },
      )
    case 'preset':
      return preset(override, before, edit)
    case 'set':
      return set(override, before, edit.rules)
    case 'reset':
      return override === undefined
        ? { ok: true, override, changed: false, said: 'the config holds already' }
        : { ok: true, override: undefined, changed: true, said: 'reset, the config holds' }
  }
}

/** Rules in one order and in normal form: what is written to disk, compared and exported. */
export function normalRules(rules: PlacementRules): PlacementRules {
  const normal = (patterns: readonly string[]): string[] =>
    [...new Set(patterns.map(normalPattern))].toSorted()
  return {
    mode: rules.mode,
    allowed_models: normal(rules.allowed_models),
    denied_models: normal(rules.denied_models),
  }
}

/** The same rules, whatever their order and spelling. */
export function sameRules(a: PlacementRules, b: PlacementRules): boolean {
  return JSON.stringify(normalRules(a)) === JSON.stringify(normalRules(b))
}

function editRule(
  override: Override,
  before: PlacementRules,
  { kind, pattern: text }: Extract<Edit, { kind: 'allow' | 'deny' | 'clear' }>,
): EditResult {
  const parsed = parsePattern(text)
  if (!parsed.ok) return parsed
  const { pattern } = parsed
  const allowed = without(before.allowed_models, pattern)
  const denied = without(before.denied_models, pattern)
  const after = {
    mode: before.mode,
    allowed_models: kind === 'allow' ? [...allowed, pattern] : allowed,
    denied_models: kind === 'deny' ? [...denied, pattern] : denied,
  }
  switch (kind) {
    case 'allow':
      return changed(override, before, after, { done: `allowed ${pattern}` })
    case 'deny':
      return changed(override, before, after, { done: `denied ${pattern}` })
    case 'clear': {
      const words = { done: `cleared the rule of ${pattern}`, idle: `${pattern} has no rule` }
      return changed(override, before, after, words)
    }
  }
}

/**
 * Without an exact rule the cell gets one that inverts its verdict. With one it loses it, and the
 * broader rule holds again; where that says the same, a second press inverts.
 */
function toggle(override: Override, before: PlacementRules, model: CellModel): EditResult {
  const verdict = decidePlacement(compilePlacement(before), model.key, model)
  if (verdict.decidedBy.kind !== 'exact') {
    const kind = verdict.allowed ? 'deny' : 'allow'
    return editRule(override, before, { kind, pattern: model.key })
  }
  const edited = editRule(override, before, { kind: 'clear', pattern: model.key })
  if (!edited.ok || edited.override === undefined) return edited
  const after = decidePlacement(compilePlacement(edited.override), model.key, model)
  const now = `${after.allowed ? 'allowed' : 'blocked'} by ${describeVerdict(after)}`
  const said =
    after.allowed === verdict.allowed
      ? `removed the exact rule of ${model.key}; still ${now}, toggle again to invert it`
      : `removed the exact rule of ${model.key}; now ${now}`
  return { ...edited, said }
}

function preset(
  override: Override,
  before: PlacementRules,
  { preset: name, installed }: Extract<Edit, { kind: 'preset' }>,
): EditResult {
  switch (name) {
    case 'allow-all':
      return changed(override, before, bare('allow_all'), { done: 'preset allow-all' })
    case 'block-all':
      return changed(override, before, bare('whitelist'), { done: 'preset block-all' })
    case 'only-installed': {
      if (installed === undefined) {
        return {
          ok: false,
          reason: 'its inventory was never read, so nothing is known to be installed',
        }
      }
      const after = { ...bare('whitelist'), allowed_models: installed }
      const done = `preset only-installed (${installed.length} models)`
      return changed(override, before, after, { done })
    }
  }
}

const bare = (mode: PlacementRules['mode']): PlacementRules => ({
  mode,
  allowed_models: [],
  denied_models: [],
})

/** An override that says what the baseline says is still an override: a changed config spares it. */
function set(override: Override, before: PlacementRules, rules: PlacementRules): EditResult {
  for (const text of [...rules.allowed_models, ...rules.denied_models]) {
    const parsed = parsePattern(text)
    if (!parsed.ok) return parsed
  }
  const words = { done: 'set the rules', idle: 'the rules are these already' }
  if (override === undefined) {
    return { ok: true, override: normalRules(rules), changed: true, said: words.done }
  }
  return changed(override, before, rules, words)
}

function changed(
  override: Override,
  before: PlacementRules,
  after: PlacementRules,
  { done, idle = `${done} already` }: { done: string; idle?: string },
): EditResult {
  if (sameRules(before, after)) return { ok: true, override, changed: false, said: idle }
  return { ok: true, override: normalRules(after), changed: true, said: done }
}

function without(patterns: readonly string[], pattern: string): string[] {
  return patterns.filter((text) => normalPattern(text) !== pattern)
}

function normalPattern(text: string): string {
  const parsed = parsePattern(text)
  return parsed.ok ? parsed.pattern : text
}
