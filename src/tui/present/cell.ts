// What a table cell or a card line says, before anybody decides how to colour or place it. CLI
// tables and console screens are built from the same cells.

import { sanitise } from './text.ts'
import { NONE } from './units.ts'

/** Meaning, not colour. Every tone also differs in its text. */
export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'dim'

export interface Cell {
  text: string
  tone: Tone
}

/** A cell of text that ogw itself wrote: numbers, states, words. */
export function cell(text: string, tone: Tone = 'plain'): Cell {
  return { text, tone }
}

/** A cell of text from outside. What could steer a terminal is escaped; absent is `-`. */
export function foreign(text: string | null | undefined, tone: Tone = 'plain'): Cell {
  if (text === null || text === undefined || text === '') return { text: NONE, tone: 'dim' }
  return { text: sanitise(text), tone }
}

export interface Column {
  header: string
  align?: 'left' | 'right'
  /** How to shorten it on a terminal that is too narrow. Without it the column is never cut. */
  cut?: 'end' | 'middle'
}

/** A whole table: its columns, and as many cells in each row. */
export interface TableView {
  columns: readonly Column[]
  rows: readonly (readonly Cell[])[]
}
