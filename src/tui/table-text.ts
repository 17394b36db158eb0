// Tables that presenters make, as rows of a box.

import type { TableView, Tone } from './present/cell.ts'
import { pad, width } from './present/text.ts'
import { type Line, type Span, span, type Style } from './theme.ts'

const STYLE: Readonly<Record<Tone, Style>> = {
  plain: 'plain',
  good: 'good',
  warn: 'warn',
  bad: 'bad',
  dim: 'dim',
}

export function tableLines({ columns, rows }: TableView): Line[] {
  const widths = columns.map(({ header }, index) =>
    rows.reduce((most, row) => Math.max(most, width(row[index]?.text ?? '')), width(header)),
  )
  const header: Span[] = columns.map((column, index) =>
    span(`${pad(column.header, widths[index] ?? 0, column.align)}  `, 'bold'),
  )
  return [
    header,
    ...rows.map((row): Line =>
      row.map(({ text, tone }, index) =>
        span(`${pad(text, widths[index] ?? 0, columns[index]?.align)}  `, STYLE[tone]),
      ),
    ),
  ]
}
