// How wide the columns of the matrix are, and which of them are in sight. The model's name and what
// counts for the whole row stay at the left; workers that do not fit are scrolled to.

import { width } from '../present/text.ts'
import type { Density } from '../state.ts'

export interface MatrixLayout {
  /** Cursor mark, indent and name. */
  name: number
  /** Zero where there is no room for it. */
  requests: number
  cell: number
  density: Exclude<Density, 'auto'>
  /** Worker columns that fit. */
  visible: number
}

export interface MatrixSize {
  columns: number
  workers: number
  longestName: number
  density: Density
}

export const ELIGIBLE_CELLS = 5
const REQUESTS_CELLS = 6
const REQUESTS_FROM = 100
const NARROWEST_NAME = 16
const NAME_SHARE = 0.34
/** Words have the room of `● installed`, glyphs with a count and a flag that of `●2↳`. */
const CELL = { words: 13, wide: 7, compact: 3 } as const
/** `✓ installed` is the longest of what most cells say. */
const WORDS_FROM = 12
const WIDE_FROM = 5
/** A mark at each side says how many columns are out of sight. */
const MARKS = 6

export function matrixLayout({ columns, workers, longestName, density }: MatrixSize): MatrixLayout {
  const requests = columns >= REQUESTS_FROM ? REQUESTS_CELLS : 0
  const share = Math.floor(columns * NAME_SHARE)
  const name = Math.max(NARROWEST_NAME, Math.min(longestName + 3, share))
  const room = Math.max(CELL.compact, columns - name - ELIGIBLE_CELLS - requests - 1)
  const fits = Math.floor(room / Math.max(1, workers))
  const chosen = density === 'auto' ? densityOf(fits) : density
  const widest = chosen === 'compact' ? 4 : CELL[chosen]
  const cell = Math.max(leastOf(chosen), Math.min(widest, fits))
  if (cell * workers <= room) return { name, requests, cell, density: chosen, visible: workers }
  const visible = Math.max(1, Math.floor((room - MARKS) / cell))
  return { name, requests, cell, density: chosen, visible }
}

function densityOf(fits: number): MatrixLayout['density'] {
  if (fits >= WORDS_FROM) return 'words'
  return fits >= WIDE_FROM ? 'wide' : 'compact'
}

function leastOf(density: MatrixLayout['density']): number {
  if (density === 'words') return WORDS_FROM
  return density === 'wide' ? WIDE_FROM : CELL.compact
}

/** First worker column to show, so that the cursor's is in sight. */
export function scrollLeft(left: number, cursor: number, visible: number, total: number): number {
  const lowest = Math.max(0, total - visible)
  let first = Math.min(Math.max(0, left), lowest)
  if (cursor < first) first = cursor
  if (cursor >= first + visible) first = cursor - visible + 1
  return Math.min(Math.max(0, first), lowest)
}

/** What all names begin with, up to a dash or dot: `node-` of node-1, node-2. */
export function commonPrefix(names: readonly string[]): string {
  const [first = '', ...rest] = names
  if (rest.length === 0) return ''
  let length = first.length
  for (const name of rest) {
    while (length > 0 && !name.startsWith(first.slice(0, length))) length -= 1
  }
  const shared = first.slice(0, length)
  const end = Math.max(shared.lastIndexOf('-'), shared.lastIndexOf('.'), shared.lastIndexOf('_'))
  const prefix = shared.slice(0, end + 1)
  // A name that would be empty needs its prefix.
  return names.some((name) => width(name.slice(prefix.length)) === 0) ? '' : prefix
}
