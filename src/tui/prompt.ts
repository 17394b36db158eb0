// One line that somebody types. A paste goes here and nowhere else.

import type { Console } from './console.ts'
import { type EditedLine, editLine, insertInto } from './line-edit.ts'
import { graphemesOf, sanitise } from './present/text.ts'
import type { Prompt } from './state.ts'

export function pressInPrompt(console: Console, prompt: Prompt, key: string): void {
  switch (key) {
    case 'enter':
      console.update({ prompt: undefined })
      prompt.onSubmit(prompt.text)
      return
    case 'esc':
    case 'C-c':
      console.update({ prompt: undefined })
      prompt.onCancel?.()
      return
    case 'tab':
      void completeText(console, prompt)
      return
    case 'up':
    case 'down':
      recall(console, prompt, key === 'up' ? -1 : 1)
      return
    default: {
      const edited = editLine(prompt, key)
      if (edited !== undefined) change(console, prompt, edited)
    }
  }
}

/** Text from the clipboard: its first line, made harmless. It is typed, never run. */
export function pasteIntoPrompt(console: Console, prompt: Prompt, text: string): void {
  change(console, prompt, insertInto(prompt, firstLineOf(text)))
}

/** What of a paste may be typed. */
export function firstLineOf(text: string): string {
  return sanitise(text.split(/[\r\n]/).find((line) => line !== '') ?? '')
}

/** A caret that only moves keeps what was offered. */
function change(console: Console, prompt: Prompt, { text, caret }: EditedLine): void {
  if (text === prompt.text) {
    console.update({ prompt: { ...prompt, caret } })
    return
  }
  console.update({ prompt: { ...prompt, text, caret, completions: [] } })
  prompt.onChange?.(text)
}

function recall(console: Console, prompt: Prompt, step: 1 | -1): void {
  const at = Math.max(0, Math.min(prompt.history.length, prompt.at + step))
  const text = prompt.history[at] ?? ''
  console.update({ prompt: { ...prompt, at, text, caret: [...graphemesOf(text)].length } })
}

/** What all completions begin with is typed; the rest is shown. An answer that comes late is dropped. */
async function completeText(console: Console, prompt: Prompt): Promise<void> {
  const offered = (await prompt.complete?.(prompt.text)) ?? []
  const now = console.ui.prompt
  if (now === undefined || now.text !== prompt.text) return
  const values = offered
    .map((line) => line.split('\t')[0] ?? '')
    .filter((one) => one !== '' && one !== ':file')
  if (values.length === 0) return
  const word = /\S*$/.exec(prompt.text)?.[0] ?? ''
  const shared = values.reduce((start, one) => commonStart(start, one))
  const complete = values.length === 1 ? `${shared} ` : shared
  const text =
    complete.length > word.length
      ? prompt.text.slice(0, prompt.text.length - word.length) + complete
      : prompt.text
  console.update({
    prompt: {
      ...now,
      text,
      caret: [...graphemesOf(text)].length,
      completions: values.length === 1 ? [] : values.map(sanitise),
    },
  })
}

function commonStart(a: string, b: string): string {
  let length = 0
  while (length < a.length && a[length] === b[length]) length += 1
  return a.slice(0, length)
}
