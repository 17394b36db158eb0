// How a dialog with fields is drawn: one row a field, the rows around the focus where there is
// little room, then what is wrong or what the field means, then the buttons.

import { scrollTop } from '../cursor.ts'
import { cancelAt, type FormField, type FormOverlay, submitAt } from '../form.ts'
import type { EditedLine } from '../line-edit.ts'
import { infinity } from '../present/tenants.ts'
import { fit, graphemesOf, sanitise, truncateEnd, width, wrapWords } from '../present/text.ts'
import { fitLine, type Line, lineOf, type Span, span } from '../theme.ts'

export interface FormArea {
  columns: number
  rows: number
  ascii: boolean
}

const LABEL_CELLS = 15
const MOST_CELLS = 84

export function formLines(form: FormOverlay, { columns, rows, ascii }: FormArea): Line[] {
  const cells = Math.min(MOST_CELLS, columns - 4)
  const said = saidLines(form, cells)
  const room = Math.max(1, rows - form.lines.length - said.length - 1)
  const focused = Math.min(form.focus, form.fields.length - 1)
  const first = scrollTop(0, focused, room, form.fields.length)
  const fields = form.fields
    .slice(first, first + room)
    .map((field, offset) =>
      fieldLine(field, { cells, ascii, focused: first + offset === form.focus }),
    )
  return [...form.lines, ...fields, ...said, buttonsLine(form)].map((line) => fitLine(line, cells))
}

/** Always a row, so that the dialog does not jump. */
function saidLines(form: FormOverlay, cells: number): Line[] {
  if (form.problem !== '') {
    return wrapWords(sanitise(form.problem), cells - 1)
      .slice(0, 3)
      .map((text) => lineOf(` ${text}`, 'bad'))
  }
  const hint = form.busy ? 'sent…' : (form.fields[form.focus]?.hint ?? '')
  return [lineOf(` ${hint}`, 'dim')]
}

interface FieldLook {
  cells: number
  ascii: boolean
  focused: boolean
}

function fieldLine(field: FormField, look: FieldLook): Line {
  const head = [
    span(look.focused ? '>' : ' ', 'bold'),
    span(`${fit(field.label, LABEL_CELLS)} `, look.focused ? 'bold' : 'plain'),
  ]
  return [...head, ...valueSpans(field, { ...look, cells: look.cells - LABEL_CELLS - 2 })]
}

function valueSpans(field: FormField, look: FieldLook): Span[] {
  switch (field.kind) {
    case 'text':
      return typedSpans(field, look)
    case 'choice':
      return field.options.map((option, index) =>
        span(
          `${index === field.at ? '(x)' : '( )'} ${option}  `,
          look.focused && index === field.at ? 'cursor' : 'plain',
        ),
      )
    case 'limit': {
      const box = span(
        `[${field.unlimited ? 'x' : ' '}] unlimited`,
        look.focused ? 'cursor' : 'plain',
      )
      if (field.unlimited) return [box, span(` ${infinity(look.ascii)}`, 'bold')]
      const cells = look.cells - width(box.text) - width(field.unit) - 3
      return [
        box,
        span('  '),
        ...typedSpans(field, { ...look, cells }),
        span(` ${field.unit}`, 'dim'),
      ]
    }
  }
}

/** The caret is drawn, because the terminal's own cursor is hidden. A long text shows where it is. */
function typedSpans({ text, caret }: EditedLine, { cells, focused }: FieldLook): Span[] {
  if (!focused) return [span(truncateEnd(sanitise(text), cells))]
  const letters = [...graphemesOf(text)].map(sanitise)
  let before = letters.slice(0, caret).join('')
  let dropped = 0
  while (width(before) > cells - 2) {
    dropped += 1
    before = `…${letters.slice(dropped, caret).join('')}`
  }
  const at = letters[caret] ?? ' '
  return [span(before), span(at, 'cursor'), span(letters.slice(caret + 1).join(''))]
}

function buttonsLine(form: FormOverlay): Line {
  const button = (label: string, at: number): Span =>
    span(
      form.focus === at ? `[ ${label} ]` : `  ${label}  `,
      form.focus === at ? 'cursor' : 'plain',
    )
  return [
    span(' '.repeat(LABEL_CELLS + 2)),
    button('Cancel', cancelAt(form)),
    span('  '),
    button(`${form.yes} (Ctrl-S)`, submitAt(form)),
  ]
}
