// The placement matrix: models by workers, with the header and the first column always in sight.

import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { rowsInSight } from '../cursor.ts'
import { fit, pad, sanitise, width } from '../present/text.ts'
import { count, plural } from '../present/units.ts'
import { cellKey } from '../state.ts'
import { fitLine, type Line, lineOf, type Span, span, spread } from '../theme.ts'
import { fillRows, type FleetView, type Picture } from '../view.ts'
import { familyCell, matrixCell } from './matrix-cell.ts'
import { cellOn, headerRows, type MatrixFrame, matrixFrame, runningOn } from './matrix-frame.ts'
import { headerLines } from './matrix-header.ts'
import { inspectorLines } from './matrix-inspector.ts'
import { type MatrixItem, matrixItems } from './matrix-items.ts'
import { ELIGIBLE_CELLS, type MatrixLayout } from './matrix-layout.ts'
import { cardLines } from './worker-card.ts'

const LEGEND =
  '● loaded  ✓ installed  ○ allowed  ✗ blocked  ? unknown  ↳ exact rule  * prefix rule  ! conflict'
const LEGEND_SHORT = '● load ✓ inst ○ allow ✗ block ? unkn ↳ exact * prefix ! conflict'

export function placementPicture(view: FleetView): Picture {
  const { snapshot, layout } = view
  const sort = view.ui.screens.placement.sort
  const corner = lineOf(
    `${filterInShort(view)}  sort ${sort.by}${sort.reverse ? '↓' : '↑'} `,
    'dim',
  )
  if (snapshot.workers.length === 0) return { body: noWorkers(view), inspector: [], corner }
  const frame = matrixFrame(view)
  if (frame.items.length === 0) return { body: noModels(view), inspector: [], corner }
  const header = headerLines(view, frame, headerRows(view, frame.layout))
  const rows = frame.items
    .slice(frame.top, frame.top + frame.page)
    .map((item, offset) => matrixRow({ view, frame }, item, frame.top + offset))
  const sight = rowsInSight(frame.top, frame.page, frame.items.length)
  const legend = layout.columns >= 110 ? LEGEND : LEGEND_SHORT
  const matrix = fillRows([...header, ...fillRows(rows, frame.page)], layout.body - 1)
  const body = withCard(view, frame, matrix)
  return {
    body: [
      ...body,
      spread(lineOf(` ${legend}`, 'dim'), lineOf(`${sight} `, 'dim'), layout.columns),
    ],
    inspector: inspectorLines(view, frame),
    corner,
  }
}

/** A lone worker leaves room for its card beside its models. */
function withCard(view: FleetView, frame: MatrixFrame, lines: readonly Line[]): readonly Line[] {
  const [worker] = frame.columns
  const { name, requests, cell } = frame.layout
  const used = name + ELIGIBLE_CELLS + requests + cell + 3
  const cells = Math.min(48, view.layout.columns - used)
  if (worker === undefined || frame.columns.length > 1 || cells < 36) return lines
  const card = cardLines(view, worker, { cells, selected: false })
  return lines.map((line, row) => [...fitLine(line, used), ...(card[row] ?? [])])
}

interface Drawing {
  view: FleetView
  frame: MatrixFrame
}

function matrixRow(drawing: Drawing, item: MatrixItem, index: number): Line {
  const { frame } = drawing
  const onRow = index === frame.row
  const line: Span[] = [nameSpan(item, frame.layout, onRow), ...countSpans(item, frame.layout)]
  line.push(span(frame.left > 0 ? ' ' : '', 'plain'))
  const shown = frame.columns.slice(frame.left, frame.left + frame.layout.visible)
  let closing = false
  for (const [offset, worker] of shown.entries()) {
    const onCell = onRow && frame.left + offset === frame.column
    const drawn = cellSpans(drawing, item, { worker, onCell, closing })
    line.push(...drawn.spans)
    ;({ closing } = drawn)
  }
  if (closing) line.push(span(']', 'bold'))
  return line
}

interface Place {
  worker: WorkerRow
  onCell: boolean
  /** The cell before was under the cursor and had no room for its bracket. */
  closing: boolean
}

function cellSpans(
  { view, frame }: Drawing,
  item: MatrixItem,
  { worker, onCell, closing }: Place,
): { spans: Span[]; closing: boolean } {
  const room = frame.layout.cell - 1
  const key = cellKey({ model: item.id, worker: worker.name })
  const { text, style } =
    item.kind === 'family'
      ? familyCell(worker, item.pattern)
      : matrixCell(
          {
            cell: cellOn(item.row, worker),
            running: runningOn(view.snapshot, worker.name, item.id),
            pending: view.ui.matrix.pending.has(key),
          },
          frame.layout,
          room,
        )
  const lead = span(onCell ? '[' : closing ? ']' : ' ', onCell || closing ? 'bold' : 'plain')
  if (!onCell) {
    const marked = view.ui.matrix.marks.has(key)
    if (marked)
      return { spans: [lead, span(fit(text === '' ? '·' : text, room), 'marked')], closing: false }
    return { spans: [lead, span(fit(text, room), style)], closing: false }
  }
  const shown = text === '' ? ' ' : text
  if (width(shown) >= room) {
    return { spans: [lead, span(fit(shown, room), 'cursor')], closing: true }
  }
  const rest = pad(']', room - width(shown))
  return { spans: [lead, span(shown, 'cursor'), span(rest, 'bold')], closing: false }
}

function nameSpan(item: MatrixItem, layout: MatrixLayout, onRow: boolean): Span {
  const mark = onRow ? '>' : ' '
  if (item.kind === 'family') {
    const text = item.folded ? `▸ ${item.pattern} (${item.models.length})` : `▾ ${item.pattern}`
    return span(`${mark}${fit(text, layout.name - 1, 'middle')}`, 'bold')
  }
  const indent = item.indented ? '  ' : ''
  const name = fit(`${indent}${sanitise(item.row.model)}`, layout.name - 2, 'middle')
  return span(`${mark} ${name}`, onRow ? 'bold' : 'plain')
}

function countSpans(item: MatrixItem, layout: MatrixLayout): Span[] {
  if (item.kind === 'family') return [span(' '.repeat(ELIGIBLE_CELLS + layout.requests), 'plain')]
  const { eligible, requests_last_hour: requests } = item.row
  const spans = [
    span(pad(count(eligible), ELIGIBLE_CELLS, 'right'), eligible === 0 ? 'warn' : 'plain'),
  ]
  if (layout.requests > 0) spans.push(span(pad(count(requests), layout.requests, 'right'), 'dim'))
  return spans
}

function filterInShort({ ui, snapshot }: FleetView): string {
  const { filter } = ui.screens.placement
  const workers =
    ui.matrix.workerFilter === '' ? '' : `  workers ${sanitise(ui.matrix.workerFilter)}`
  if (filter === '') return `no filter${workers}`
  const shown = matrixItems(snapshot, ui).filter(({ kind }) => kind === 'model').length
  return `/${sanitise(filter)} ${shown} of ${snapshot.models.length}${workers}`
}

function noWorkers({ layout }: FleetView): Line[] {
  return fillRows(
    [
      [],
      lineOf('   No workers yet.', 'bold'),
      [],
      lineOf('     add "workers" to the config, then'),
      lineOf('     $ ogw config reload                       (no restart needed)'),
    ],
    layout.body,
  )
}

function noModels({ ui, snapshot, layout }: FleetView): Line[] {
  const { filter } = ui.screens.placement
  const up = snapshot.workers.filter(({ health }) => health === 'up').length
  const text =
    filter === ''
      ? `   ${up} of ${plural(snapshot.workers.length, 'worker')} up, none has a model.   : models pull NAME`
      : `   0 of ${plural(snapshot.models.length, 'model')} match "${sanitise(filter)}".   Esc clears the filter`
  return fillRows([[], lineOf(text)], layout.body)
}
