// Placement rules in the order in which they are asked. Which of them decides is for the gateway to
// say; here they are only listed, so that a person sees what competes.

import type { PlacementRules } from '../../gateway/contract/schema/common.ts'

export interface RuleView {
  pattern: string
  verdict: 'allow' | 'deny'
  kind: 'exact' | 'prefix'
}

/** All rules: the exact ones, then the longest prefix first; at equal length the denial first. */
export function listRules(rules: PlacementRules): RuleView[] {
  const views = [
    ...rules.denied_models.map((pattern) => ruleOf(pattern, 'deny')),
    ...rules.allowed_models.map((pattern) => ruleOf(pattern, 'allow')),
  ]
  return views.toSorted(
    (a, b) => rank(b) - rank(a) || (a.pattern < b.pattern ? -1 : a.pattern > b.pattern ? 1 : 0),
  )
}

/** The rules that speak of a model, the most specific first. */
export function rulesAbout(rules: PlacementRules, model: string): RuleView[] {
  return listRules(rules).filter(({ pattern }) => patternFits(pattern, model))
}

export function patternFits(pattern: string, model: string): boolean {
  const name = model.toLowerCase()
  const wanted = pattern.toLowerCase()
  return wanted.endsWith('*') ? name.startsWith(wanted.slice(0, -1)) : name === wanted
}

function ruleOf(pattern: string, verdict: RuleView['verdict']): RuleView {
  return { pattern, verdict, kind: pattern.endsWith('*') ? 'prefix' : 'exact' }
}

function rank({ pattern, verdict, kind }: RuleView): number {
  const specificity = kind === 'exact' ? 10_000 : pattern.length
  return specificity * 2 + (verdict === 'deny' ? 1 : 0)
}
