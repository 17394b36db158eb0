// A cursor follows its row by id. When the row is gone, whoever stands in its place is next.

import type { ScreenState } from './state.ts'

export interface Identified {
  id: string
}

/** Place of the cursor among the rows as they are now, -1 where there are none. */
export function cursorIndex(
  rows: readonly Identified[],
  { row, index }: Pick<ScreenState, 'row' | 'index'>,
): number {
  if (rows.length === 0) return -1
  const found = row === undefined ? 0 : rows.findIndex(({ id }) => id === row)
  return found === -1 ? Math.min(index, rows.length - 1) : found
}

/** Rows above and below the cursor that stay in sight. */
const MARGIN = 2

/** First row to show, so that the cursor is in sight. A short list begins at its begin. */
export function scrollTop(top: number, cursor: number, page: number, total: number): number {
  const margin = Math.min(MARGIN, Math.floor((page - 1) / 2))
  const lowest = Math.max(0, total - page)
  let first = Math.min(Math.max(0, top), lowest)
  if (cursor < first + margin) first = cursor - margin
  if (cursor > first + page - 1 - margin) first = cursor - page + 1 + margin
  return Math.min(Math.max(0, first), lowest)
}

/** `rows 6-21/61 ▼`; empty where all are in sight. */
export function rowsInSight(first: number, page: number, total: number): string {
  if (total <= page) return ''
  const last = Math.min(total, first + page)
  const arrows = (first > 0 ? '▲' : '') + (last < total ? '▼' : '')
  return `rows ${first + 1}-${last}/${total} ${arrows}`
}
