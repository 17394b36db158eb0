// How the rows of the terminal are shared out. A frame is exactly as high as the terminal: one row
// more, and the terminal library would write the whole screen on every change.

export const SMALLEST = { columns: 60, rows: 16 } as const

export interface Layout {
  columns: number
  rows: number
  /** Rules above and below the body, where there is room for them. */
  rules: boolean
  inspector: 1 | 2
  body: number
}

const ROOMY_ROWS = 30
/** Identity, fleet, tabs; message, keys. */
const CHROME_ROWS = 5

export function layoutOf(columns: number, rows: number): Layout {
  const roomy = rows >= ROOMY_ROWS
  const inspector = roomy ? 2 : 1
  const body = rows - CHROME_ROWS - inspector - (roomy ? 2 : 0)
  return { columns, rows, rules: roomy, inspector, body: Math.max(1, body) }
}

export function isTooSmall(columns: number, rows: number): boolean {
  return columns < SMALLEST.columns || rows < SMALLEST.rows
}
