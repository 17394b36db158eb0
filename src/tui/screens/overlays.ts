// What is drawn over the body: boxes built of rows of text, because a box of the terminal library
// would cost more than the whole matrix.

import type { ConfirmOverlay, Overlay } from '../state.ts'
import { fitLine, type Line, lineOf, lineWidth, type Span, span } from '../theme.ts'
import { fillRows, type View } from '../view.ts'
import { keyContextOf } from '../context.ts'
import { toPureAscii } from '../present/glyphs.ts'
import { formLines } from './form.ts'
import { helpLines } from './help.ts'

/** The body with the topmost overlay over it. */
export function withOverlay(view: View, body: readonly Line[]): readonly Line[] {
  const overlay = view.ui.overlays.at(-1)
  if (overlay === undefined) return body
  const { columns, body: rows } = view.layout
  if (overlay.kind === 'help') {
    const lines = helpLines(columns, { context: keyContextOf(view.ui), filter: overlay.filter })
    return fillRows(lines.slice(overlay.top), rows)
  }
  const box = boxOf(overlay, { columns, rows, ascii: view.theme.ascii })
  const top = Math.max(0, Math.floor((rows - box.length) / 3))
  return fillRows([...body.slice(0, top), ...box, ...body.slice(top + box.length)], rows)
}

interface Area {
  columns: number
  rows: number
  ascii: boolean
}

function boxOf(overlay: Exclude<Overlay, { kind: 'help' }>, area: Area): Line[] {
  const inner = inLetters(contentOf(overlay, area), area)
  const widest = inner.lines.reduce((most, line) => Math.max(most, lineWidth(line)), 0)
  const wanted = Math.max(widest, lineWidth(lineOf(inner.title)) + 4, 40)
  const width = Math.min(area.columns - 4, wanted)
  const indent = span(' '.repeat(Math.max(0, Math.floor((area.columns - width - 4) / 2))))
  const side = span('│')
  const title = inner.title === '' ? '' : `─ ${inner.title} `
  const top = `${title}${'─'.repeat(Math.max(0, width + 2 - lineWidth(lineOf(title))))}`
  return [
    [indent, span('┌'), ...fitLine(lineOf(top, 'bold'), width + 2), span('┐')],
    ...inner.lines.map((line): Line => [
      indent,
      side,
      span(' '),
      ...fitLine(line, width),
      span(' '),
      side,
    ]),
    [indent, span(`└${'─'.repeat(width + 2)}┘`)],
  ]
}

/** Before anything is measured: a sign may be one cell and its letters three. */
function inLetters(content: Content, { ascii }: Area): Content {
  if (!ascii) return content
  const lines = content.lines.map((line) =>
    line.map(({ text, style }) => span(toPureAscii(text), style)),
  )
  return { title: content.title, lines }
}

interface Content {
  title: string
  lines: Line[]
}

function contentOf(overlay: Exclude<Overlay, { kind: 'help' }>, area: Area): Content {
  const room = Math.max(1, area.rows - 2)
  switch (overlay.kind) {
    case 'confirm':
      return { title: overlay.title, lines: confirmLines(overlay, room) }
    case 'form':
      return {
        title: overlay.title,
        lines: formLines(overlay, { ...area, rows: room }),
      }
    case 'secret':
      return {
        title: overlay.title,
        lines: [
          lineOf(overlay.secret, 'bold'),
          [],
          ...overlay.lines,
          lineOf('y copies it · Esc closes, and it is gone', 'dim'),
        ],
      }
    case 'menu': {
      const first = Math.max(0, Math.min(overlay.index - room + 1, overlay.items.length - room))
      const lines = overlay.items.slice(first, first + room).map(({ key, label }, offset) => {
        const on = first + offset === overlay.index
        return [
          span(on ? '> ' : '  '),
          span(key.padEnd(2), 'bold'),
          span(label, on ? 'cursor' : 'plain'),
        ]
      })
      return { title: overlay.title, lines }
    }
    case 'text': {
      const long = overlay.lines.length > room - 1
      const shown = overlay.lines.slice(overlay.top, overlay.top + room - 1)
      const more = long
        ? `jk scroll, ${overlay.top + shown.length} of ${overlay.lines.length} · `
        : ''
      return {
        title: overlay.title,
        lines: [...shown, lineOf(`${more}${overlay.hint ?? ''}Esc closes`, 'dim')],
      }
    }
  }
}

function confirmLines({ lines, yes, focus }: ConfirmOverlay, room: number): Line[] {
  const button = (label: string, on: boolean): Span =>
    span(on ? `[ ${label} ]` : `  ${label}  `, on ? 'cursor' : 'plain')
  return [
    ...lines.slice(0, Math.max(1, room - 2)),
    [],
    [
      span('          '),
      button('Cancel', focus === 'cancel'),
      span('    '),
      button(`${yes} (y)`, focus === 'yes'),
    ],
  ]
}
