// Keys while a dialog with fields is open. Letters go into the field; what sends it or drops it is
// on keys that no field takes.

import type { Console } from './console.ts'
import { cancelAt, type FormOverlay, moveFocus, pasteField, pressField, submitAt } from './form.ts'
import { firstLineOf } from './prompt.ts'
import { isTypedAhead } from './type-ahead.ts'

export function pressInForm(console: Console, form: FormOverlay, key: string): void {
  if (key === 'esc' || key === 'C-c') {
    console.close()
    const said = form.busy ? 'not waited for: the gateway may have done it' : 'nothing was changed'
    console.say('note', said)
    return
  }
  if (form.busy) return
  const step = { down: 1, tab: 1, up: -1, 'S-tab': -1 }[key]
  if (step !== undefined) {
    console.replace(moveFocus(form, step))
    return
  }
  if (key === 'C-s') {
    submit(console, form)
    return
  }
  if (form.focus >= cancelAt(form)) pressButton(console, form, key)
  else if (key === 'enter') console.replace(moveFocus(form, 1))
  else {
    const next = pressField(form, key)
    if (next !== undefined) console.replace(next)
  }
}

function pressButton(console: Console, form: FormOverlay, key: string): void {
  if (['left', 'right', 'h', 'l'].includes(key)) {
    const focus = form.focus === cancelAt(form) ? submitAt(form) : cancelAt(form)
    console.replace({ ...form, focus })
  } else if (key === 'enter' && form.focus === submitAt(form)) {
    submit(console, form)
  } else if (key === 'enter') {
    console.close()
    console.say('note', 'nothing was changed')
  } else if (key === 'j' || key === 'k') console.replace(moveFocus(form, key === 'j' ? 1 : -1))
}

function submit(console: Console, form: FormOverlay): void {
  if (!isTypedAhead(console, form)) form.onSubmit(form)
}

/** Pasted text is typed into the field that has the focus. */
export function pasteIntoForm(console: Console, form: FormOverlay, text: string): void {
  const next = form.busy ? undefined : pasteField(form, firstLineOf(text))
  if (next === undefined) console.say('note', 'a paste is only taken where text is typed')
  else console.replace(next)
}
