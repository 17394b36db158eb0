// Opening a dialog with fields, and what becomes of it when its answer comes: it may have been left
// meanwhile, and then nothing is drawn over what is open now.

import { AdminError } from '../../gateway/contract/faults.ts'
import type { Console } from '../console.ts'
import type { FormField, FormOverlay } from '../form.ts'
import { sayFailure } from '../operate.ts'
import { sanitise } from '../present/text.ts'
import { lineOf } from '../theme.ts'

export interface FormAsk {
  title: string
  lines?: readonly string[]
  fields: readonly FormField[]
  yes: string
  onSubmit(form: FormOverlay): void
}

export function openForm(console: Console, { title, lines = [], ...ask }: FormAsk): void {
  console.open({
    kind: 'form',
    title: sanitise(title),
    lines: lines.map((text) => lineOf(` ${sanitise(text)}`)),
    ...ask,
    focus: 0,
    problem: '',
    busy: false,
    openedMono: console.store.clock.mono(),
  })
}

/** Says in the dialog what is wrong, and lets the operator go on with it. */
export function sayInForm(
  console: Console,
  form: FormOverlay,
  change: Pick<FormOverlay, 'problem'> & Partial<FormOverlay>,
): void {
  const open = openNow(console, form)
  if (open !== undefined) console.replace({ ...open, busy: false, ...change })
}

/** In the dialog while it is open, so that what was typed is not lost. */
export function sayFailureInForm(console: Console, form: FormOverlay, error: unknown): void {
  if (!(error instanceof AdminError) || openNow(console, form) === undefined) {
    sayFailure(console, error)
    return
  }
  const problem =
    error.code === 'conflict' ? conflictInForm(error) : `${error.message}. Nothing was changed`
  sayInForm(console, form, { problem })
}

export function conflictInForm({ message }: AdminError): string {
  return `not applied: ${message}. Ctrl-S again if it is still meant`
}

export function markSent(console: Console, form: FormOverlay): void {
  const open = openNow(console, form)
  if (open !== undefined) console.replace({ ...open, busy: true, problem: '' })
}

export function closeForm(console: Console, form: FormOverlay): void {
  if (openNow(console, form) !== undefined) console.close()
}

/** The dialog as it stands now; undefined where it was left. */
export function openNow(console: Console, { onSubmit }: FormOverlay): FormOverlay | undefined {
  const top = console.ui.overlays.at(-1)
  return top?.kind === 'form' && top.onSubmit === onSubmit ? top : undefined
}
