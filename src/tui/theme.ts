// How meaning becomes bytes. A row of the screen is a list of spans; it is painted into one string
// whose escape codes change only where the style does, because the terminal library measures and
// compares every one of them on every frame.
//
// Colour off is not attributes off: without colours the bold, dim and inverse ones stay.

import { toPureAscii } from './present/glyphs.ts'
import { pad, truncateEnd, width } from './present/text.ts'

/** Meaning, not colour. Whatever differs in style differs in its text too. */
export type Style =
  | 'plain'
  | 'dim'
  | 'bold'
  | 'good'
  | 'info'
  | 'warn'
  | 'bad'
  | 'cursor'
  | 'marked'

export interface Span {
  text: string
  style: Style
}

/** One row of the screen. */
export type Line = readonly Span[]

export interface Theme {
  /** False with NO_COLOR and --no-color. */
  color: boolean
  /** Letters in place of signs, and nothing but ASCII. */
  ascii: boolean
}

/** The sixteen colours of the terminal's own theme; no pair of red and green tells things apart. */
const COLORED: Readonly<Record<Style, string>> = {
  plain: '',
  dim: '2',
  bold: '1',
  good: '1;36',
  info: '36',
  warn: '33',
  bad: '1;31',
  cursor: '7',
  marked: '4',
}

const COLORLESS: Readonly<Record<Style, string>> = {
  ...COLORED,
  good: '1',
  info: '',
  warn: '',
  bad: '1',
}

export function span(text: string, style: Style = 'plain'): Span {
  return { text, style }
}

export function lineOf(text: string, style: Style = 'plain'): Line {
  return [{ text, style }]
}

export function lineWidth(line: Line): number {
  return line.reduce((cells, one) => cells + width(one.text), 0)
}

/** Exactly so many cells: what is longer is cut and says so, what is shorter is filled. */
export function fitLine(line: Line, columns: number): Line {
  const fitted: Span[] = []
  let room = columns
  for (const one of line) {
    const cells = width(one.text)
    if (cells > room) {
      fitted.push({ text: pad(truncateEnd(one.text, room), room), style: one.style })
      return fitted
    }
    fitted.push(one)
    room -= cells
  }
  if (room > 0) fitted.push({ text: ' '.repeat(room), style: 'plain' })
  return fitted
}

/** Left text, right text, and the room between them. The left gives way. */
export function spread(left: Line, right: Line, columns: number): Line {
  const cells = lineWidth(right)
  if (cells === 0 || cells >= columns) return fitLine(left, columns)
  return [...fitLine(left, columns - cells - 1), span(' '), ...right]
}

/** Every span in one style: the picture of a gateway that is gone is dim throughout. */
export function restyle(line: Line, style: Style): Line {
  return line.map(({ text }) => ({ text, style }))
}

const RESET = '\u001b[0m'

/** The row as the terminal gets it, exactly `columns` cells wide. */
export function paint(line: Line, theme: Theme, columns: number): string {
  const codes = theme.color ? COLORED : COLORLESS
  let painted = ''
  let current = ''
  // Letters before widths: the sign of no limit is one cell, its letters are three.
  const written = theme.ascii ? line.map((one) => span(toPureAscii(one.text), one.style)) : line
  for (const { text, style } of fitLine(written, columns)) {
    if (text === '') continue
    const code = codes[style]
    const shown = theme.ascii ? toPureAscii(text) : text
    // Blanks look the same in every style but the inverse and the underlined one.
    const blank = current !== '7' && current !== '4' && code !== '7' && code !== '4'
    if (code !== current && !(blank && shown.trim() === '')) {
      if (current !== '') painted += RESET
      if (code !== '') painted += `\u001b[${code}m`
      current = code
    }
    painted += shown
  }
  return current === '' ? painted : painted + RESET
}
