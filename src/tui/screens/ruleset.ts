// The rules of one worker as a draft: nothing happens before it is applied, and what it would do is
// said by the gateway, not guessed here.

import type { PlacementRules } from '../../gateway/contract/schema/common.ts'
import type { Snapshot } from '../../gateway/contract/schema/snapshot.ts'
import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { scrollTop } from '../cursor.ts'
import { GLYPH } from '../present/glyphs.ts'
import { listRules, patternFits, type RuleView } from '../present/rules.ts'
import { fit, pad, sanitise } from '../present/text.ts'
import { plural } from '../present/units.ts'
import type { Draft } from '../state.ts'
import { fitLine, type Line, lineOf, span, type Style } from '../theme.ts'
import { fillRows, type FleetView, type Picture } from '../view.ts'
import { rulesShort } from './workers-rows.ts'

export function isDirty({ rules, before }: Draft): boolean {
  return JSON.stringify(rules) !== JSON.stringify(before)
}

export function rulesetPicture(view: FleetView, draft: Draft): Picture {
  const { layout, snapshot } = view
  const worker = snapshot.workers.find(({ name }) => name === draft.worker)
  const corner = lineOf(
    `Workers › ${sanitise(draft.worker)} › ruleset${isDirty(draft) ? ' · DRAFT' : ''} on rev ${draft.revision} `,
    'dim',
  )
  const wide = layout.columns >= 110
  const left = wide ? Math.floor(layout.columns / 2) - 1 : layout.columns
  const ruleRows = wide ? layout.body : Math.max(5, Math.floor(layout.body * 0.55))
  const rules = fillRows(
    ruleLines(view, draft, { worker, columns: left, rows: ruleRows }),
    ruleRows,
  )
  const effect = effectLines(draft, wide ? layout.columns - left - 2 : layout.columns)
  const body = wide
    ? beside(rules, fillRows(effect, layout.body), left)
    : [...rules, ...fillRows(effect, layout.body - ruleRows)]
  return { body, inspector: inspect(snapshot, draft), corner }
}

function beside(left: readonly Line[], right: readonly Line[], columns: number): Line[] {
  return left.map((line, row) => [
    ...fitLine(line, columns),
    span('│ ', 'dim'),
    ...(right[row] ?? []),
  ])
}

interface RulesArea {
  worker: WorkerRow | undefined
  columns: number
  rows: number
}

function ruleLines(view: FleetView, draft: Draft, area: RulesArea): Line[] {
  const { rules } = draft
  const radio = (mode: PlacementRules['mode']): string =>
    `${rules.mode === mode ? '(x)' : '( )'} ${mode}`
  const views = listRules(rules)
  const head: Line[] = [
    lineOf(` Mode ${radio('allow_all')}  ${radio('whitelist')}   m toggles`, 'bold'),
    lineOf(
      `   # ${fit('PATTERN', patternCells(area.columns))} VERDICT KIND   MATCH SOURCE`,
      'bold',
    ),
  ]
  const foot = footLines(view, draft, area)
  const room = Math.max(1, area.rows - head.length - foot.length)
  const top = scrollTop(0, draft.index, room, views.length)
  const shown = views
    .slice(top, top + room)
    .map((rule, offset) => ruleLine(view.snapshot, draft, { rule, index: top + offset }, area))
  const none = lineOf('   no rules: the mode decides for every model', 'dim')
  return [...head, ...fillRows(views.length === 0 ? [none] : shown, room), ...foot]
}

const patternCells = (columns: number): number => Math.max(14, Math.min(40, columns - 34))

function ruleLine(
  snapshot: Snapshot,
  draft: Draft,
  { rule, index }: { rule: RuleView; index: number },
  { columns }: RulesArea,
): Line {
  const on = index === draft.index
  const hits = snapshot.models.filter(({ model }) => patternFits(rule.pattern, model)).length
  const style: Style = rule.verdict === 'deny' ? 'warn' : 'plain'
  return [
    span(on ? '>' : ' ', 'bold'),
    span(pad(String(index + 1), 3, 'right')),
    span(' '),
    span(fit(sanitise(rule.pattern), patternCells(columns), 'middle'), on ? 'cursor' : 'plain'),
    span(` ${pad(rule.verdict, 7)}`, style),
    span(
      ` ${pad(rule.kind, 6)} ${pad(String(hits), 5, 'right')} ${sourceOf(draft, snapshot, rule)}`,
    ),
  ]
}

/** Where a rule comes from: the draft, an operator, or the config. */
function sourceOf(draft: Draft, snapshot: Snapshot, rule: RuleView): string {
  const has = (rules: PlacementRules): boolean =>
    (rule.verdict === 'allow' ? rules.allowed_models : rules.denied_models).includes(rule.pattern)
  if (!has(draft.before)) return 'draft'
  const baseline = snapshot.workers.find(({ name }) => name === draft.worker)?.placement.baseline
  return baseline !== undefined && has(baseline) ? 'config' : 'operator'
}

function footLines({ layout }: FleetView, draft: Draft, { worker }: RulesArea): Line[] {
  if (!layout.rules) return [lineOf(' presets: A all  O installed  B none  R config', 'dim')]
  const baseline = worker?.placement.baseline
  const layer = worker?.placement.layer === 'override' ? 'set by operators' : 'the config holds'
  return [
    [],
    lineOf(' exact > longest prefix > mode; on a tie deny wins', 'dim'),
    lineOf(' Presets   A all   O installed   B none   R as the config'),
    lineOf(
      ` Now       ${worker === undefined ? 'this worker is gone' : `${rulesShort(worker)}, ${layer}`}`,
    ),
    lineOf(` Config    ${baseline === undefined ? '' : inWords(baseline)}`, 'dim'),
    lineOf(` Draft     ${inWords(draft.rules)}`, 'dim'),
  ]
}

export function inWords({
  mode,
  allowed_models: allowed,
  denied_models: denied,
}: PlacementRules): string {
  return [mode, ...denied.map((one) => `-${one}`), ...allowed.map((one) => `+${one}`)]
    .map(sanitise)
    .join(' ')
}

function effectLines(draft: Draft, columns: number): Line[] {
  if (draft.problem !== undefined) return [lineOf(` ${sanitise(draft.problem)}`, 'bad')]
  const { plan } = draft
  if (plan === undefined) {
    return [
      lineOf(
        isDirty(draft) ? ' asking the gateway what this would do…' : ' nothing is changed yet',
        'dim',
      ),
    ]
  }
  const name = Math.max(16, columns - 34)
  const orphans = plan.orphaned.map(sanitise).join(', ')
  const summary: Line[] = [
    lineOf(` ${plural(plan.changes.length, 'cell')} would change`, 'bold'),
    orphans === ''
      ? lineOf(' every model keeps a worker that has it', 'dim')
      : lineOf(` ${plural(plan.orphaned.length, 'model')} left with NO worker: ${orphans}`, 'bad'),
    lineOf(
      ` ${plural(plan.refused_last_hour, 'request')} of the last hour would be refused`,
      'dim',
    ),
    [],
    lineOf(` ${fit('MODEL', name)} NOW           AFTER`, 'bold'),
  ]
  const changes = plan.changes.map(({ model, before, after }): Line => [
    span(` ${fit(sanitise(model), name, 'middle')} ${pad(`${GLYPH[before]} ${before}`, 13)} `),
    span(`${GLYPH[after]} ${after}`, after === 'blocked' ? 'warn' : 'good'),
  ])
  return [...summary, ...changes]
}

function inspect(snapshot: Snapshot, draft: Draft): Line[] {
  const rule = listRules(draft.rules)[draft.index]
  if (rule === undefined) return [lineOf(' n makes a rule', 'dim')]
  const hits = snapshot.models.filter(({ model }) => patternFits(rule.pattern, model))
  const names = hits.slice(0, 6).map(({ model }) => sanitise(model))
  const more = hits.length > names.length ? ` and ${hits.length - names.length} more` : ''
  return [
    [
      span(` ${sanitise(rule.pattern)}  ${rule.verdict}  `, 'bold'),
      span(`${rule.kind}, matches ${names.length === 0 ? 'no model now' : names.join(' ')}${more}`),
    ],
    lineOf(
      isDirty(draft) ? ' draft, not applied: Ctrl-S applies, Esc drops it' : ' as it holds now',
      'dim',
    ),
  ]
}
