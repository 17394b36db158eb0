// The header of the matrix: worker names without what all have in common, their states, and how
// many columns are out of sight.

import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { GLYPH } from '../present/glyphs.ts'
import { fit, pad, sanitise, width } from '../present/text.ts'
import { type Line, type Span, span, type Style } from '../theme.ts'
import type { FleetView } from '../view.ts'
import { commonPrefix, ELIGIBLE_CELLS } from './matrix-layout.ts'
import type { MatrixFrame } from './matrix-frame.ts'

export function headerLines(view: FleetView, frame: MatrixFrame, rows: 1 | 2): Line[] {
  const names = [nameLine(view, frame, rows === 1)]
  return rows === 1 ? names : [...names, stateLine(view, frame)]
}

function nameLine({ ui }: FleetView, frame: MatrixFrame, withState: boolean): Line {
  const { layout, columns, left } = frame
  const { by, reverse } = ui.screens.placement.sort
  const prefix = commonPrefix(columns.map(({ name }) => sanitise(name)))
  const arrow = by === 'model' ? (reverse ? ' ↓' : ' ↑') : ''
  const common = prefix === '' ? '' : `  (${prefix}…)`
  const line: Span[] = [
    span(` ${fit(`MODEL${arrow}${common}`, layout.name - 1)}`, 'bold'),
    span(pad('ELIG', ELIGIBLE_CELLS, 'right'), 'bold'),
  ]
  if (layout.requests > 0) line.push(span(pad('REQ/H', layout.requests, 'right'), 'bold'))
  if (left > 0) line.push(span('◂', 'bold'))
  const room = layout.cell - 1
  for (const [offset, worker] of inSight(frame).entries()) {
    const style = left + offset === frame.column ? 'cursor' : 'bold'
    const name = sanitise(worker.name).slice(prefix.length)
    const mark = withState ? stateMark(worker) : ''
    const shown = fit(name, Math.min(width(name), room - width(mark))) + mark
    line.push(span(' '), span(shown, style), span(' '.repeat(Math.max(0, room - width(shown)))))
  }
  const hidden = columns.length - left - layout.visible
  if (hidden > 0) line.push(span(` ▸${hidden}`, 'bold'))
  return line
}

function stateLine({ ui, snapshot }: FleetView, frame: MatrixFrame): Line {
  const { layout, left, items } = frame
  const models = items.filter(({ kind }) => kind === 'model').length
  const grouped = ui.screens.placement.sort.by === 'model' ? ' · by family' : ''
  const text = `${models} of ${snapshot.models.length}${grouped}`
  const line: Span[] = [
    span(` ${fit(text, layout.name - 1)}`, 'dim'),
    span(' '.repeat(ELIGIBLE_CELLS + layout.requests)),
  ]
  if (left > 0) line.push(span(' '))
  for (const worker of inSight(frame)) {
    const { sign, word, style } = stateWord(worker)
    const room = layout.cell - 1
    const shown = [`${sign} ${word}`, `${sign}${word}`].find((text) => width(text) <= room) ?? sign
    line.push(span(` ${fit(shown, room)}`, style))
  }
  return line
}

function inSight({ columns, left, layout }: MatrixFrame): readonly WorkerRow[] {
  return columns.slice(left, left + layout.visible)
}

/** Beside the name; nothing for a worker that is simply up. */
function stateMark({ health, draining, breaker }: WorkerRow): string {
  if (health === 'down') return GLYPH.down
  if (draining) return GLYPH.draining
  if (health === 'starting') return GLYPH.starting
  return breaker.state === 'closed' ? '' : '!'
}

function stateWord(worker: WorkerRow): { sign: string; word: string; style: Style } {
  const mark = stateMark(worker)
  if (worker.health === 'down') return { sign: mark, word: 'down', style: 'bad' }
  if (worker.draining) return { sign: mark, word: 'drain', style: 'warn' }
  if (worker.health === 'starting') return { sign: mark, word: 'start', style: 'dim' }
  if (mark !== '') return { sign: mark, word: 'break', style: 'warn' }
  const word = worker.placement.mode === 'whitelist' ? 'white' : 'allow'
  return { sign: GLYPH.up, word, style: 'dim' }
}
