// Tables as kubectl prints them: upper-case headers, three spaces between columns, no lines. They
// are cut only to fit a terminal; what goes into a pipe or a file is whole.

import type { Cell, Column, TableView, Tone } from '../tui/present/cell.ts'
import { toAscii } from '../tui/present/glyphs.ts'
import { pad, truncateEnd, truncateMiddle, width } from '../tui/present/text.ts'

/** How the output is to look. */
export interface Look {
  color: boolean
  /** Letters in place of glyphs. */
  ascii: boolean
  /** Cells in a line of the terminal; undefined where the output is none. */
  columns: number | undefined
}

const GUTTER = '   '
/** A column is not cut below this, however narrow the terminal. */
const MIN_CUT = 8

const SGR: Readonly<Record<Tone, string>> = {
  plain: '',
  good: '32',
  warn: '33',
  bad: '31',
  dim: '2',
}

export function paint(text: string, tone: Tone, look: Look): string {
  const code = SGR[tone]
  return look.color && code !== '' && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text
}

/** The table as lines, each ended by a line feed. */
export function renderTable(table: TableView, look: Look): string {
  const rows = table.rows.map((row) => row.map((one) => drawn(one, look)))
  const widths = columnWidths(table.columns, rows, look)
  const header = table.columns.map(({ header: text }) => ({ text, tone: 'plain' as const }))
  return [header, ...rows].map((row) => renderRow(row, table.columns, widths, look)).join('')
}

/** Facts as `label   value` lines, one each. */
export function renderFacts(facts: readonly (readonly [string, Cell])[], look: Look): string {
  const room = facts.reduce((most, [label]) => Math.max(most, width(label)), 0)
  return facts
    .map(([label, value]) => {
      const { text, tone } = drawn(value, look)
      return `${paint(pad(label, room), 'dim', look)}${GUTTER}${paint(text, tone, look)}\n`
    })
    .join('')
}

function drawn(one: Cell, look: Look): Cell {
  return look.ascii ? { ...one, text: toAscii(one.text) } : one
}

function columnWidths(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  look: Look,
): number[] {
  const widths = columns.map((column, index) =>
    rows.reduce((most, row) => Math.max(most, width(row[index]?.text ?? '')), width(column.header)),
  )
  if (look.columns === undefined) return widths
  let excess =
    widths.reduce((sum, one) => sum + one, GUTTER.length * (columns.length - 1)) - look.columns
  while (excess > 0) {
    const widest = widestToCut(columns, widths)
    if (widest === undefined) break
    widths[widest] = (widths[widest] ?? 0) - 1
    excess -= 1
  }
  return widths
}

function widestToCut(columns: readonly Column[], widths: readonly number[]): number | undefined {
  let found: number | undefined
  for (const [index, column] of columns.entries()) {
    const floor = Math.max(MIN_CUT, width(column.header))
    if (column.cut === undefined || (widths[index] ?? 0) <= floor) continue
    if (found === undefined || (widths[index] ?? 0) > (widths[found] ?? 0)) found = index
  }
  return found
}

function renderRow(
  row: readonly Cell[],
  columns: readonly Column[],
  widths: readonly number[],
  look: Look,
): string {
  const ellipsis = look.ascii ? '~' : '…'
  let line = ''
  let blanks = ''
  for (const [index, column] of columns.entries()) {
    const one = row[index] ?? { text: '', tone: 'plain' as const }
    const room = widths[index] ?? 0
    const cut = column.cut === 'middle' ? truncateMiddle : truncateEnd
    const text = column.cut === undefined ? one.text : cut(one.text, room, ellipsis)
    const filled = pad(text, room, column.align)
    // Blanks stay outside the colour, and a line does not end in them.
    const bare = filled.trimEnd()
    line += bare === '' ? '' : blanks + paint(bare, one.tone, look)
    if (bare !== '') blanks = ''
    blanks += ' '.repeat(width(filled) - width(bare)) + GUTTER
  }
  return `${line}\n`
}
