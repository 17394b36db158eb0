// The placement matrix: models by workers, with the header and the first column always in sight.

import type { ModelRow } from '../../gateway/contract/schema/models.ts'
import type { Cell } from '../../gateway/contract/schema/placement.ts'
import type { Snapshot } from '../../gateway/contract/schema/snapshot.ts'
import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { cursorIndex, rowsInSight, scrollTop } from '../cursor.ts'
import { memoLast } from '../memo.ts'
import { rulesAbout } from '../present/rules.ts'
import { fit, pad, sanitise, width } from '../present/text.ts'
import { bytes, contextSize, count, plural, rate } from '../present/units.ts'
import { cellKey, type ScreenState } from '../state.ts'
import { fitLine, type Line, lineOf, type Span, span, spread } from '../theme.ts'
import { fillRows, type FleetView, type Picture } from '../view.ts'
import { cardLines } from './worker-card.ts'
import { cellInWords, familyCell, matrixCell } from './matrix-cell.ts'
import { headerLines } from './matrix-header.ts'
import { type MatrixItem, matrixColumns, matrixItems } from './matrix-items.ts'
import { ELIGIBLE_CELLS, matrixLayout, type MatrixLayout, scrollLeft } from './matrix-layout.ts'

/** What is in sight of the matrix, and where the cursor is in it. */
export interface MatrixFrame {
  items: readonly MatrixItem[]
  columns: readonly WorkerRow[]
  layout: MatrixLayout
  /** Place of the cursor, -1 where there is nothing. */
  row: number
  column: number
  /** First row and first column in sight. */
  top: number
  left: number
  /** Rows for models. */
  page: number
}

const LEGEND =
  '● loaded  ✓ installed  ○ allowed  ✗ blocked  ? unknown  ↳ exact rule  * prefix rule  ! conflict'
const LEGEND_SHORT = '● load ✓ inst ○ allow ✗ block ? unkn ↳ exact * prefix ! conflict'

export function matrixFrame(view: FleetView): MatrixFrame {
  const { snapshot, ui, layout: screen } = view
  const items = matrixItems(snapshot, ui)
  const columns = matrixColumns(snapshot, ui)
  const layout = matrixLayout({
    columns: screen.columns,
    workers: columns.length,
    longestName: longestName(snapshot.models),
    density: ui.matrix.density,
  })
  const state = ui.screens.placement
  const row = matrixCursor(items, state)
  const found = columns.findIndex(({ name }) => name === ui.matrix.column)
  const column =
    found === -1 ? Math.min(Math.max(0, ui.matrix.columnIndex), columns.length - 1) : found
  const page = Math.max(1, screen.body - headerRows(view, layout) - 1)
  return {
    items,
    columns,
    layout,
    row,
    column,
    top: scrollTop(state.top, row, page, items.length),
    left: scrollLeft(ui.matrix.left, column, layout.visible, columns.length),
    page,
  }
}

/** It begins on a model, and goes to a model when its own row is gone. */
function matrixCursor(items: readonly MatrixItem[], state: ScreenState): number {
  const isThere = state.row !== undefined && items.some(({ id }) => id === state.row)
  if (isThere) return cursorIndex(items, state)
  const from = state.row === undefined ? 0 : Math.min(state.index, items.length - 1)
  const model = items.findIndex(({ kind }, index) => index >= from && kind === 'model')
  return model === -1 ? from : model
}

const longestName = memoLast((models: readonly ModelRow[]): number =>
  models.reduce((most, { model }) => Math.max(most, width(sanitise(model))), 0),
)

/** A second row tells the workers' states where there is room. */
function headerRows(view: FleetView, layout: MatrixLayout): 1 | 2 {
  return view.layout.rules && layout.cell >= 6 ? 2 : 1
}

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
  const running = runningOf(snapshot)
  const rows = frame.items
    .slice(frame.top, frame.top + frame.page)
    .map((item, offset) => matrixRow({ view, frame, running }, item, frame.top + offset))
  const sight = rowsInSight(frame.top, frame.page, frame.items.length)
  const legend = layout.columns >= 110 ? LEGEND : LEGEND_SHORT
  const matrix = fillRows([...header, ...fillRows(rows, frame.page)], layout.body - 1)
  const body = withCard(view, frame, matrix)
  return {
    body: [
      ...body,
      spread(lineOf(` ${legend}`, 'dim'), lineOf(`${sight} `, 'dim'), layout.columns),
    ],
    inspector: inspect(view, frame, running),
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

/** Worker and canonical model name → requests that run there. */
type Running = ReadonlyMap<string, number>

const runningOf = memoLast((snapshot: Snapshot): Running => {
  const running = new Map<string, number>()
  for (const { name, model_slots: slots } of snapshot.workers) {
    for (const { model, used } of slots) running.set(`${name}\n${model.toLowerCase()}`, used)
  }
  return running
})

export function runningOn(snapshot: Snapshot, worker: string, model: string): number {
  return runningOf(snapshot).get(`${worker}\n${model.toLowerCase()}`) ?? 0
}

export function cellOn(row: ModelRow, worker: WorkerRow | undefined): Cell | undefined {
  if (worker === undefined) return undefined
  const there = row.cells[worker.index]
  if (there?.worker === worker.name) return there
  return row.cells.find((cell) => cell.worker === worker.name)
}

interface Drawing {
  view: FleetView
  frame: MatrixFrame
  running: Running
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
  { view, frame, running }: Drawing,
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
            running: running.get(`${worker.name}\n${item.id.toLowerCase()}`) ?? 0,
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

/** Explains what is under the cursor, and why it is so. */
function inspect(view: FleetView, frame: MatrixFrame, running: Running): Line[] {
  const item = frame.items[frame.row]
  const worker = frame.columns[frame.column]
  if (item === undefined || worker === undefined) return []
  if (item.kind === 'family') return inspectFamily(item, worker)
  const cell = cellOn(item.row, worker)
  if (cell === undefined) return []
  const runs = running.get(`${worker.name}\n${item.id.toLowerCase()}`) ?? 0
  const verdict = cell.state === 'blocked' ? 'BLOCKED' : 'allowed'
  return [
    [
      span(` ${sanitise(item.id)} @ ${sanitise(worker.name)}  `, 'bold'),
      span(`${verdict}: ${rulesInWords(worker, item.id)} · ${cellInWords(cell, runs)}`, 'plain'),
    ],
    lineOf(` ${copyInWords(item.row, worker.name)} · ${othersInWords(view, item.row)}`, 'dim'),
  ]
}

function inspectFamily(item: Extract<MatrixItem, { kind: 'family' }>, worker: WorkerRow): Line[] {
  const loaded = item.models.filter(({ copies }) => copies.some((copy) => copy.loaded)).length
  return [
    [
      span(` ${sanitise(item.pattern)} @ ${sanitise(worker.name)}  `, 'bold'),
      span(`${plural(item.models.length, 'model')}, ${loaded} loaded somewhere`, 'plain'),
    ],
    lineOf(' a and d make a rule of this prefix, z folds', 'dim'),
  ]
}

/** The rule that matches most closely, then those it beats, then the mode. */
function rulesInWords({ placement }: WorkerRow, model: string): string {
  const rules = rulesAbout(placement, model).map(
    ({ kind, verdict, pattern }) => `${kind} ${verdict} ${pattern}`,
  )
  const layer = placement.layer === 'override' ? 'override' : 'config'
  return [...rules, `mode ${placement.mode} (${layer})`].map(sanitise).join(' > ')
}

function copyInWords(row: ModelRow, worker: string): string {
  const copy = row.copies.find((one) => one.worker === worker)
  if (copy === undefined) return 'not installed there'
  const speed =
    copy.output_tokens_per_s === null ? '' : `, learned ${rate(copy.output_tokens_per_s)}`
  const context =
    copy.context_loaded === null ? '' : `, context ${contextSize(copy.context_loaded)}`
  return `${copy.loaded ? 'loaded' : 'installed'} ${bytes(copy.size_bytes)}${context}${speed}`
}

function othersInWords(view: FleetView, row: ModelRow): string {
  const takes = new Set(view.snapshot.workers.filter(takesRequests).map(({ name }) => name))
  const names = row.cells
    .filter(
      ({ state, worker }) => takes.has(worker) && (state === 'loaded' || state === 'installed'),
    )
    .map(({ worker, state }) => `${sanitise(worker)}${state === 'loaded' ? ' ●' : ''}`)
  const on = names.length === 0 ? 'allowed and installed nowhere' : `can run on ${names.join(' ')}`
  return `${row.eligible} of ${view.snapshot.workers.length} eligible: ${on}`
}

const takesRequests = ({ health, draining, breaker }: WorkerRow): boolean =>
  health === 'up' && !draining && breaker.state === 'closed'

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
