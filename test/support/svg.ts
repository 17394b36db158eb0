// A terminal screen with its colours as an SVG. Each run of text stands at its own column, so that
// no font moves the columns.

import { graphemesOf, width } from '../../src/tui/present/text.ts'

const CELL = { width: 8.43, height: 18 } as const
const FONT_SIZE = 14
const PADDING = 12

/** A dark terminal of no particular brand. */
const COLORS = { background: '#16181d', text: '#d4d7dd', dim: '#7c828e' } as const
const PALETTE: Readonly<Record<string, string>> = {
  31: '#f2777a',
  32: '#8fc97a',
  33: '#e5c07b',
  34: '#6ea8fe',
  35: '#c792ea',
  36: '#5fd3d8',
}

interface Run {
  column: number
  text: string
  style: Style
}

interface Style {
  color: string | undefined
  bold: boolean
  dim: boolean
  inverse: boolean
  underline: boolean
}

const PLAIN: Style = { color: undefined, bold: false, dim: false, inverse: false, underline: false }

/** `screen` is what `tmux capture-pane -e -p` prints. */
export function screenToSvg(screen: string, columns: number, title: string): string {
  const lines = screen.replace(/\n$/, '').split('\n')
  const size = {
    width: Math.ceil(columns * CELL.width + PADDING * 2),
    height: lines.length * CELL.height + PADDING * 2,
  }
  let style = PLAIN
  const body: string[] = []
  for (const [row, line] of lines.entries()) {
    const runs: Run[] = []
    style = readLine(line, style, runs)
    body.push(...runs.map((run) => drawRun(run, row)))
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}" height="${size.height}" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${COLORS.background}"/>`,
    `<g font-family="ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="${FONT_SIZE}" fill="${COLORS.text}" xml:space="preserve">`,
    ...body,
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

/** Fills `runs` and returns the style that goes on in the next line. */
function readLine(line: string, before: Style, runs: Run[]): Style {
  let style = before
  let column = 0
  // oxlint-disable-next-line no-control-regex -- escape codes are what this reads
  for (const part of line.split(/(\u001b\[[\d;]*m)/)) {
    if (part.startsWith('\u001b')) {
      style = nextStyle(style, part.slice(2, -1))
      continue
    }
    for (const piece of pieces(part)) {
      runs.push({ column, text: piece, style })
      column += width(piece)
    }
  }
  return style
}

/** Plain letters together; each sign that a font may draw wider stands alone. */
function pieces(text: string): string[] {
  const found: string[] = []
  for (const letter of graphemesOf(text)) {
    const last = found.at(-1)
    const joins = /^[ -~]$/.test(letter) && last !== undefined && /[ -~]$/.test(last)
    if (joins) found[found.length - 1] = last + letter
    else found.push(letter)
  }
  return found
}

function nextStyle(style: Style, parameters: string): Style {
  let next = style
  for (const code of parameters === '' ? ['0'] : parameters.split(';')) {
    if (code === '0') next = PLAIN
    else if (code === '1') next = { ...next, bold: true }
    else if (code === '2') next = { ...next, dim: true }
    else if (code === '4') next = { ...next, underline: true }
    else if (code === '7') next = { ...next, inverse: true }
    else if (code === '39') next = { ...next, color: undefined }
    else if (PALETTE[code] !== undefined) next = { ...next, color: PALETTE[code] }
  }
  return next
}

function drawRun({ column, text, style }: Run, row: number): string {
  const x = round(PADDING + column * CELL.width)
  const y = PADDING + row * CELL.height
  const cells = width(text)
  if (text.trim() === '' && !style.inverse) return ''
  const ink = style.color ?? (style.dim ? COLORS.dim : COLORS.text)
  const box = style.inverse
    ? `<rect x="${x}" y="${y}" width="${round(cells * CELL.width)}" height="${CELL.height}" fill="${ink}"/>`
    : ''
  const attributes = [
    `x="${x}"`,
    `y="${round(y + FONT_SIZE * 0.95)}"`,
    cells > 1 ? `textLength="${round(cells * CELL.width)}"` : '',
    style.inverse || ink !== COLORS.text ? `fill="${style.inverse ? COLORS.background : ink}"` : '',
    style.bold ? 'font-weight="700"' : '',
    style.underline ? 'text-decoration="underline"' : '',
  ].filter((one) => one !== '')
  return `${box}<text ${attributes.join(' ')}>${escaped(text)}</text>`
}

const round = (value: number): number => Math.round(value * 100) / 100

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
