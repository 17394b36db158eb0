// What is in sight of the matrix, and what is known of one of its places: keys act on what this says,
// and the screen draws it.

import type { ModelRow } from '../../gateway/contract/schema/models.ts'
import type { Cell } from '../../gateway/contract/schema/placement.ts'
import type { Snapshot } from '../../gateway/contract/schema/snapshot.ts'
import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { cursorIndex, scrollTop } from '../cursor.ts'
import { memoLast } from '../memo.ts'
import { sanitise, width } from '../present/text.ts'
import type { ScreenState } from '../state.ts'
import type { FleetView } from '../view.ts'
import { type MatrixItem, matrixColumns, matrixItems } from './matrix-items.ts'
import { matrixLayout, type MatrixLayout, scrollLeft } from './matrix-layout.ts'

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
export function headerRows(view: FleetView, layout: MatrixLayout): 1 | 2 {
  return view.layout.rules && layout.cell >= 6 ? 2 : 1
}

/** Worker and canonical model name → requests that run there. */
const runningOf = memoLast((snapshot: Snapshot): ReadonlyMap<string, number> => {
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
