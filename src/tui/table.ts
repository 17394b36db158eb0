// Tables of the console: columns with a width, the less important ones left out where the terminal
// is narrow, one column that takes what is left.

import { fit, pad, truncateEnd, truncateMiddle, width } from './present/text.ts'
import { type Line, type Span, span, type Style } from './theme.ts'

export interface TableColumn<T> {
  id: string
  header: string
  /** Cells; for the one that grows the fewest. */
  width: number
  align?: 'right'
  cut?: 'middle'
  /** Takes what is left, up to so many cells. */
  grows?: number
  /** The highest is left out first; without one the column always stays. */
  drop?: number
  text(row: T): string
  style?(row: T): Style
}

export interface PlacedColumn<T> {
  column: TableColumn<T>
  cells: number
}

type ColumnMore<T> = Pick<TableColumn<T>, 'align' | 'cut' | 'grows' | 'drop' | 'style'>

/** A column in one line of code. */
export function column<T>(
  [id, header, width]: readonly [id: string, header: string, width: number],
  text: (row: T) => string,
  more: ColumnMore<T> = {},
): TableColumn<T> {
  return { id, header, width, text, ...more }
}

/** Mark of the cursor, then each column with a blank behind it. */
export function placeColumns<T>(
  columns: readonly TableColumn<T>[],
  total: number,
): PlacedColumn<T>[] {
  const kept = [...columns]
  while (neededCells(kept) > total) {
    const drops = kept.map(({ drop }) => drop ?? 0)
    const highest = Math.max(...drops)
    if (highest === 0) break
    kept.splice(drops.lastIndexOf(highest), 1)
  }
  const placed = kept.map((one) => ({ column: one, cells: one.width }))
  // What is left is dealt out cell by cell, so that no column starves another.
  let spare = Math.max(0, total - neededCells(kept))
  while (spare > 0) {
    const growing = placed.filter(({ column: one, cells }) => cells < (one.grows ?? 0))
    if (growing.length === 0) break
    for (const one of growing.slice(0, spare)) one.cells += 1
    spare -= Math.min(spare, growing.length)
  }
  return placed
}

function neededCells<T>(columns: readonly TableColumn<T>[]): number {
  return columns.reduce((cells, { width: own }) => cells + own + 1, 1)
}

export interface SortMark {
  by: string
  reverse: boolean
}

export function tableHeader<T>(placed: readonly PlacedColumn<T>[], sort?: SortMark): Line {
  const text = placed.map(({ column, cells }) => {
    const arrow = sort?.by === column.id ? (sort.reverse ? '↓' : '↑') : ''
    const header = truncateEnd(column.header, cells - width(arrow)) + arrow
    return pad(header, cells, column.align ?? 'left')
  })
  return [span(` ${text.join(' ')}`, 'bold')]
}

export function tableRow<T>(
  placed: readonly PlacedColumn<T>[],
  row: T,
  look: { selected: boolean; tone?: Style },
): Line {
  const line: Span[] = [span(look.selected ? '>' : ' ', 'bold')]
  for (const [index, { column, cells }] of placed.entries()) {
    const text = column.text(row)
    const cut = column.cut === 'middle' ? truncateMiddle(text, cells) : truncateEnd(text, cells)
    const shown = column.align === 'right' ? pad(cut, cells, 'right') : fit(cut, cells)
    const style = look.tone ?? column.style?.(row) ?? 'plain'
    line.push(span(shown, look.selected && index === 0 ? 'cursor' : style), span(' '))
  }
  return line
}
