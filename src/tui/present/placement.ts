// The placement matrix, verdicts and plans, in glyphs and words. Colour is never the only
// difference between two cells.

import type {
  Cell as MatrixCell,
  CellState,
  HistoryEntry,
  MatrixRow,
  Plan,
  Why,
} from '../../gateway/contract/schema/placement.ts'
import { type Cell, cell, foreign, type TableView, type Tone } from './cell.ts'
import { GLYPH } from './glyphs.ts'
import { sanitise } from './text.ts'
import { age } from './units.ts'

export interface CellView extends Cell {
  /** Read out by `?` and by screen readers; the glyph alone is not enough. */
  label: string
}

const LOOK: Readonly<Record<CellState, { glyph: string; tone: Tone; label: string }>> = {
  loaded: { glyph: GLYPH.loaded, tone: 'good', label: 'loaded' },
  installed: { glyph: GLYPH.installed, tone: 'plain', label: 'installed' },
  allowed: { glyph: GLYPH.allowed, tone: 'dim', label: 'allowed, not installed' },
  blocked: { glyph: GLYPH.blocked, tone: 'bad', label: 'blocked' },
  unknown: { glyph: GLYPH.unknown, tone: 'dim', label: 'allowed, inventory unknown' },
}

/** Explains the glyphs of a matrix in one line. */
export const LEGEND = '● loaded   ✓ installed   ○ allowed   ✗ blocked   ? unknown   ↳ exact rule'

/** What one cell of the matrix looks like. The cells of a down worker are dimmed. */
export function presentCell(one: MatrixCell): CellView {
  const { glyph, tone, label } = LOOK[one.state]
  const exact = one.exact ? GLYPH.exact : ''
  const words = [label, one.exact ? 'by an exact rule' : '', one.down ? 'worker is down' : '']
  return {
    text: glyph + exact,
    tone: one.down ? 'dim' : tone,
    label: words.filter((word) => word !== '').join(', '),
  }
}

/** One row per model, one column per worker, in the order of the gateway. */
export function presentMatrix(rows: readonly MatrixRow[]): TableView {
  const workers = rows[0]?.cells ?? []
  return {
    columns: [
      { header: 'MODEL', cut: 'middle' },
      ...workers.map(({ worker, down }) => ({
        header: sanitise(worker) + (down ? ' (down)' : ''),
      })),
    ],
    rows: rows.map((row) => [foreign(row.model), ...row.cells.map(presentCell)]),
  }
}

export function presentWhy(verdicts: readonly Why[]): TableView {
  return {
    columns: [
      { header: 'MODEL', cut: 'middle' },
      { header: 'WORKER' },
      { header: 'VERDICT' },
      { header: 'DECIDED BY' },
      { header: 'LAYER' },
      { header: 'COMPETING', cut: 'end' },
    ],
    rows: verdicts.map((why) => [
      foreign(why.model),
      foreign(why.worker),
      why.allowed ? cell('allowed', 'good') : cell('blocked', 'bad'),
      foreign(decidedBy(why)),
      cell(why.layer),
      foreign(why.competing.map(({ verdict, pattern }) => `${verdict} ${pattern}`).join(', ')),
    ]),
  }
}

/** `exact rule deny qwen3:8b`, `prefix rule allow gemma4:*`, `mode whitelist`. */
export function decidedBy({
  decided_by: by,
  allowed,
}: Pick<Why, 'decided_by' | 'allowed'>): string {
  switch (by.kind) {
    case 'mode':
      return `mode ${by.mode}`
    case 'cloud':
      return 'cloud model, no exact allow rule'
    case 'exact':
    case 'prefix':
      return `${by.kind} rule ${allowed ? 'allow' : 'deny'} ${by.pattern}`
  }
}

/** The cells that an edit changes. */
export function presentChanges(plan: Pick<Plan, 'changes'>): TableView {
  return {
    columns: [
      { header: 'MODEL', cut: 'middle' },
      { header: 'WORKER' },
      { header: 'BEFORE' },
      { header: 'AFTER' },
    ],
    rows: plan.changes.map((change) => [
      foreign(change.model),
      foreign(change.worker),
      stateCell(change.before),
      stateCell(change.after),
    ]),
  }
}

function stateCell(state: CellState): Cell {
  const { glyph, tone } = LOOK[state]
  return cell(`${glyph} ${state}`, tone)
}

export function presentHistory(entries: readonly HistoryEntry[], now: number): TableView {
  return {
    columns: [
      { header: 'ID', align: 'right' },
      { header: 'AGE', align: 'right' },
      { header: 'ACTOR' },
      { header: 'OPERATION', cut: 'end' },
      { header: 'WORKERS', cut: 'end' },
    ],
    rows: entries.map((entry) => [
      cell(String(entry.id)),
      cell(age(entry.at, now)),
      foreign(entry.actor),
      foreign(entry.operation),
      foreign(entry.after.map(({ worker }) => worker).join(',')),
    ]),
  }
}
