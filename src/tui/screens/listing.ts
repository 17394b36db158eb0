// What the screens that are lists share: the rows in sight, the cursor, the sort.

import { cursorIndex, rowsInSight, scrollTop } from '../cursor.ts'
import type { ScreenId } from '../state.ts'
import {
  type PlacedColumn,
  placeColumns,
  type TableColumn,
  tableHeader,
  tableRow,
} from '../table.ts'
import { type Line, lineOf, span, type Style } from '../theme.ts'
import { fillRows, type FleetView, screenState } from '../view.ts'

export interface ListSpec<T extends { id: string }> {
  screen: ScreenId
  rows: readonly T[]
  columns: readonly TableColumn<T>[]
  /** Rows that the header and the list may take. */
  height: number
  tone?: (row: T) => Style | undefined
  /** Said where there is no row. */
  empty: string
}

export interface Listed<T> {
  lines: Line[]
  selected: T | undefined
  index: number
  /** Said in the corner, as in `rows 1-15/19 ▼`. */
  sight: string
}

export function listPicture<T extends { id: string }>(
  view: FleetView,
  { screen, rows, columns, height, tone, empty }: ListSpec<T>,
): Listed<T> {
  const state = screenState(view, screen)
  const placed = placeColumns(columns, view.layout.columns)
  const header = tableHeader(placed, state.sort)
  if (rows.length === 0) {
    const said =
      state.filter === '' ? empty : `nothing matches "${state.filter}".   Esc clears the filter`
    return {
      lines: fillRows([header, lineOf(`   ${said}`, 'dim')], height),
      selected: undefined,
      index: -1,
      sight: '',
    }
  }
  const page = Math.max(1, height - 1)
  const index = cursorIndex(rows, state)
  const top = scrollTop(state.top, index, page, rows.length)
  const drawn = rows
    .slice(top, top + page)
    .map((row, offset) => drawRow(placed, row, top + offset === index, tone?.(row)))
  return {
    lines: fillRows([header, ...drawn], height),
    selected: rows[index],
    index,
    sight: rowsInSight(top, page, rows.length),
  }
}

function drawRow<T>(
  placed: readonly PlacedColumn<T>[],
  row: T,
  selected: boolean,
  tone: Style | undefined,
): Line {
  return tableRow(placed, row, tone === undefined ? { selected } : { selected, tone })
}

export function cornerOf(view: FleetView, ...words: readonly string[]): Line {
  const { filter, sort } = screenState(view)
  const shown = [
    ...words.filter((word) => word !== ''),
    filter === '' ? '' : `/${filter}`,
    `sort ${sort.by}${sort.reverse ? '↓' : '↑'}`,
  ]
  return [span(`${shown.filter((word) => word !== '').join('  ')} `, 'dim')]
}

/** By a number or a text; undefined comes last. */
export function sortRows<T>(
  rows: readonly T[],
  value: ((row: T) => number | string | null | undefined) | undefined,
  reverse: boolean,
): readonly T[] {
  if (value === undefined) return reverse ? rows.toReversed() : rows
  const ordered = rows.toSorted((a, b) => compareValues(value(a), value(b)))
  return reverse ? ordered.toReversed() : ordered
}

function compareValues(a: number | string | null | undefined, b: typeof a): number {
  if (a === b) return 0
  if (a === null || a === undefined) return 1
  if (b === null || b === undefined) return -1
  return a < b ? -1 : 1
}
