import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type FormOverlay,
  limitField,
  limitOf,
  moveFocus,
  parseAmount,
  pasteField,
  pressField,
  textField,
  textOf,
} from '../../src/tui/form.ts'
import { formLines } from '../../src/tui/screens/form.ts'
import { lineWidth } from '../../src/tui/theme.ts'

function form(credits: number, focus = 1): FormOverlay {
  return {
    kind: 'form',
    title: 'policy',
    lines: [],
    fields: [
      textField(['name', 'name'], 'añ模', 'a hint'),
      limitField(['credits', 'credits'], credits, { unit: 'tokens', hint: 'Space ticks' }),
      { kind: 'choice', id: 'scope', label: 'scope', hint: '', options: ['a', 'b', 'c'], at: 1 },
    ],
    focus,
    yes: 'Apply',
    problem: '',
    busy: false,
    openedMono: 0,
    onSubmit() {},
  }
}

function typed(start: FormOverlay, ...keys: string[]): FormOverlay {
  return keys.reduce((now, key) => pressField(now, key) ?? now, start)
}

test('Space ticks a box for no limit, and unticking brings the number back', () => {
  const start = form(500)
  assert.equal(limitOf(start, 'credits'), 500)
  const ticked = typed(start, 'space')
  assert.equal(limitOf(ticked, 'credits'), 0)
  assert.equal(limitOf(typed(ticked, 'space'), 'credits'), 500)
})

test('a box that was ticked from the start asks for a number', () => {
  const start = form(0)
  assert.equal(limitOf(start, 'credits'), 0)
  const unticked = typed(start, 'space')
  assert.equal(limitOf(unticked, 'credits'), undefined, 'nothing is typed yet')
  assert.equal(limitOf(typed(unticked, '0'), 'credits'), undefined, '0 is the box, not a number')
  assert.equal(limitOf(typed(unticked, '2', 'M'), 'credits'), 2_000_000)
  // Whoever types a number means it.
  assert.equal(limitOf(typed(start, '7', '5'), 'credits'), 75)
  assert.equal(pressField(start, 'x'), undefined, 'letters are no number')
  assert.equal(pressField(start, 'backspace'), undefined, 'there is nothing to take away')
})

test('amounts', () => {
  const table: [string, number | undefined][] = [
    ['500', 500],
    [' 500_000 ', 500_000],
    ['1,000', 1_000],
    ['500k', 500_000],
    ['1.5M', 1_500_000],
    ['2G', 2_000_000_000],
    ['0.1', undefined],
    ['1.2345k', undefined],
    ['-5', undefined],
    ['', undefined],
    ['k', undefined],
    ['1e9', undefined],
    ['9999999999G', undefined],
  ]
  for (const [text, value] of table) assert.equal(parseAmount(text), value, text)
})

test('text is typed and pasted at the caret; a choice goes round; the focus too', () => {
  const start = form(0, 0)
  assert.equal(textOf(typed(start, 'left', 'x', 'j', 'space'), 'name'), 'añxj 模')
  const pasted = pasteField(start, 'qwen3:*')
  assert.equal(pasted && textOf(pasted, 'name'), 'añ模qwen3:*')
  const choice = form(0, 2)
  assert.equal(textOf(typed(choice, 'space', 'space'), 'scope'), 'a')
  assert.equal(textOf(typed(choice, 'left'), 'scope'), 'a')
  assert.equal(pasteField(choice, 'x'), undefined)
  const pastedLimit = pasteField(form(0), '12')
  assert.equal(pastedLimit && limitOf(pastedLimit, 'credits'), 12)
  assert.equal(moveFocus(form(0, 4), 1).focus, 0)
  assert.equal(moveFocus(form(0, 0), -1).focus, 4)
})

// The caret stood behind a letter that there was no more, and the next Backspace did nothing.
test('a mark that is typed after its letter joins it, and one Backspace takes both', () => {
  const marked = typed(form(0, 0), '\u0301')
  assert.equal(textOf(marked, 'name'), 'añ模\u0301')
  assert.equal(textOf(typed(marked, 'backspace'), 'name'), 'añ')
  const within = typed(form(0, 0), 'home', 'right', '\u0301', 'x')
  assert.equal(textOf(within, 'name'), 'a\u0301xñ模')
})

const SIZES = [60, 80, 120].flatMap((columns) => [6, 8, 20].map((rows) => ({ columns, rows })))

test('every row of a dialog is as wide as the others, and no higher than its room', () => {
  const problem = 'not applied: somebody '.repeat(20)
  const long = textField(['long', 'long'], '模'.repeat(99), '')
  for (const size of SIZES) {
    for (const focus of [0, 1, 2, 3, 4, 5]) {
      for (const one of [form(0, focus), form(7, focus), { ...form(7, focus), problem }]) {
        const lines = formLines(
          { ...one, fields: [...one.fields, long] },
          { ...size, ascii: false },
        )
        assert.ok(lines.length <= size.rows, `${lines.length} of ${size.rows}`)
        const widths = new Set(lines.map(lineWidth))
        assert.equal(widths.size, 1, [...widths].join(' '))
      }
    }
  }
})
