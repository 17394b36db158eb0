// Moving the cursor. It moves inside the page and scrolls only at its edge, because scrolling
// writes every row of the screen again.

import type { Console } from '../console.ts'
import { cursorIndex, scrollTop } from '../cursor.ts'
import { listRules } from '../present/rules.ts'
import { matrixColumns } from '../screens/matrix-items.ts'
import { scrollLeft } from '../screens/matrix-layout.ts'
import { matrixFrame } from '../screens/matrix-frame.ts'
import { paneItems } from '../screens/tenant-items.ts'
import { listRows } from '../screens/tenants.ts'
import { cardGrid, showsCards } from '../screens/workers.ts'
import { PANE_TOP, type TenantPane } from '../state.ts'
import type { FleetView } from '../view.ts'
import { screenState } from '../view.ts'
import { rowsOf } from './target.ts'

export type Step = 'down' | 'up' | 'pageDown' | 'pageUp' | 'halfDown' | 'halfUp' | 'first' | 'last'

export function moveRow(console: Console, step: Step): void {
  const view = console.fleet()
  if (view === undefined) return
  const { draft } = console.ui
  if (draft !== undefined) {
    const last = listRules(draft.rules).length - 1
    const index = clamp(draft.index + distance(step, 10), last)
    console.update({ draft: { ...draft, index } })
    return
  }
  if (view.ui.screen === 'tenants' && view.ui.tenants.focus !== 'list') {
    moveInPane(console, view, view.ui.tenants.focus, step)
    return
  }
  const rows = rowsOf(view)
  const from = currentIndex(view)
  goToRow(
    console,
    view,
    clamp(from + distance(step, pageOf(view)) * perRow(view, step), rows.length - 1),
  )
}

/** Puts the cursor on the row at this place, and keeps it in sight. */
function goToRow(console: Console, view: FleetView, index: number): void {
  const row = rowsOf(view)[index]
  if (row === undefined) return
  const { top } = screenState(view)
  const page = pageOf(view)
  console.updateScreen({
    row: row.id,
    index,
    top: scrollTop(top, index, page, rowsOf(view).length),
  })
  console.update({
    lastMoveMono: view.mono,
    ...(view.ui.screen === 'events' && { follow: index === 0 && view.ui.pane === 'events' }),
  })
  if (view.ui.screen === 'tenants') {
    console.updateTenants({ cursors: { actors: PANE_TOP, keys: PANE_TOP } })
  }
  extendMarks(console)
}

function moveInPane(console: Console, view: FleetView, pane: TenantPane, step: Step): void {
  const { cursors } = view.ui.tenants
  const items = paneItems(view, pane)
  const page = panePage(view)
  const from = cursorIndex(items, cursors[pane])
  const index = clamp(from + distance(step, page), items.length - 1)
  const top = scrollTop(cursors[pane].top, index, page, items.length)
  const cursor = { row: items[index]?.id, index, top }
  console.updateTenants({ cursors: { ...cursors, [pane]: cursor } })
}

export function moveColumn(console: Console, step: 'left' | 'right' | 'first' | 'last'): void {
  const view = console.fleet()
  if (view === undefined || console.ui.draft !== undefined) return
  if (view.ui.screen === 'workers') {
    moveCard(console, view, step)
    return
  }
  if (view.ui.screen !== 'placement') return
  const { column, layout, columns } = matrixFrame(view)
  const last = columns.length - 1
  const to = { left: column - 1, right: column + 1, first: 0, last }[step]
  goToColumn(console, view, { index: clamp(to, last), visible: layout.visible })
  extendMarks(console)
}

function goToColumn(
  console: Console,
  view: FleetView,
  { index, visible }: { index: number; visible: number },
): void {
  const columns = matrixColumns(view.snapshot, view.ui)
  const { left } = view.ui.matrix
  console.updateMatrix({
    column: columns[index]?.name,
    columnIndex: index,
    left: scrollLeft(left, index, visible, columns.length),
  })
  console.update({ lastMoveMono: view.mono })
}

/** Next or previous row that is a match: with a filter, every row that is no family. */
export function moveMatch(console: Console, step: 1 | -1): void {
  const view = console.fleet()
  if (view === undefined) return
  if (screenState(view).filter === '') {
    console.say('note', 'no filter: / sets one')
    return
  }
  const rows = rowsOf(view)
  const isMatch = (id: string): boolean =>
    view.ui.screen !== 'placement' || view.snapshot.models.some(({ model }) => model === id)
  for (let passed = 1; passed <= rows.length; passed += 1) {
    const index = (currentIndex(view) + step * passed + rows.length * 2) % rows.length
    if (isMatch(rows[index]?.id ?? '')) {
      goToRow(console, view, index)
      return
    }
  }
}

function moveCard(
  console: Console,
  view: FleetView,
  step: 'left' | 'right' | 'first' | 'last',
): void {
  const rows = rowsOf(view)
  if (!showsCards(view, rows.length)) return
  const from = currentIndex(view)
  const to = { left: from - 1, right: from + 1, first: 0, last: rows.length - 1 }[step]
  goToRow(console, view, clamp(to, rows.length - 1))
}

function currentIndex(view: FleetView): number {
  if (view.ui.screen === 'placement') return matrixFrame(view).row
  return cursorIndex(rowsOf(view), screenState(view))
}

/** Among cards, down is a whole row of them. */
function perRow(view: FleetView, step: Step): number {
  if (view.ui.screen !== 'workers' || step === 'first' || step === 'last') return 1
  return showsCards(view, rowsOf(view).length) ? cardGrid(view.layout).across : 1
}

export function pageOf(view: FleetView): number {
  if (view.ui.screen === 'placement') return matrixFrame(view).page
  if (view.ui.screen === 'tenants') return Math.max(1, listRows(view) - 1)
  return Math.max(1, view.layout.body - 2)
}

/** Below the list: a blank row, the title, the header, and what is left. */
function panePage(view: FleetView): number {
  return Math.max(1, view.layout.body - listRows(view) - 3)
}

function distance(step: Step, page: number): number {
  const half = Math.max(1, Math.floor(page / 2))
  const far = Number.MAX_SAFE_INTEGER / 4
  return {
    down: 1,
    up: -1,
    pageDown: page,
    pageUp: -page,
    halfDown: half,
    halfUp: -half,
    first: -far,
    last: far,
  }[step]
}

const clamp = (value: number, last: number): number => Math.max(0, Math.min(value, last))

/** While a range is open, the marks follow the cursor. */
function extendMarks(console: Console): void {
  const { anchor } = console.ui.matrix
  const view = console.fleet()
  if (anchor === undefined || view === undefined || view.ui.screen !== 'placement') return
  const { items, columns, row, column } = matrixFrame(view)
  const fromRow = items.findIndex(({ id }) => id === anchor.model)
  const fromColumn = columns.findIndex(({ name }) => name === anchor.worker)
  if (fromRow === -1 || fromColumn === -1) return
  const marks = new Set<string>()
  for (const item of items.slice(Math.min(fromRow, row), Math.max(fromRow, row) + 1)) {
    if (item.kind !== 'model') continue
    for (const worker of columns.slice(
      Math.min(fromColumn, column),
      Math.max(fromColumn, column) + 1,
    )) {
      marks.add(`${item.id}\n${worker.name}`)
    }
  }
  console.updateMatrix({ marks })
}
