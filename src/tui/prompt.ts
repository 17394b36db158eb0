// One line that somebody types. A paste goes here and nowhere else.

import type { Console } from './console.ts'
import { typedBy } from './input.ts'
import { graphemesOf, sanitise } from './present/text.ts'
import type { Prompt } from './state.ts'

/** Longer than any name or command; what is pasted beyond it is cut. */
const MAX_LETTERS = 2_000

export function pressInPrompt(console: Console, prompt: Prompt, key: string): void {
  const letters = [...graphemesOf(prompt.text)]
  const { caret } = prompt
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
    case 'backspace':
      change(console, prompt, {
        letters: letters.toSpliced(Math.max(0, caret - 1), caret === 0 ? 0 : 1),
        caret: caret - 1,
      })
      return
    case 'delete':
    case 'C-d':
      change(console, prompt, { letters: letters.toSpliced(caret, 1), caret })
      return
    case 'C-u':
      change(console, prompt, { letters: letters.slice(caret), caret: 0 })
      return
    case 'C-w': {
      const kept = letters
        .slice(0, caret)
        .join('')
        .replace(/\S+\s*$/, '')
      const start = [...graphemesOf(kept)]
      change(console, prompt, { letters: [...start, ...letters.slice(caret)], caret: start.length })
      return
    }
    default:
      pressCaret(console, prompt, key)
  }
}

function pressCaret(console: Console, prompt: Prompt, key: string): void {
  const letters = [...graphemesOf(prompt.text)]
  const { caret } = prompt
  const places: Readonly<Record<string, number>> = {
    left: caret - 1,
    right: caret + 1,
    home: 0,
    'C-a': 0,
    end: letters.length,
    'C-e': letters.length,
  }
  const place = places[key]
  if (place !== undefined) {
    const to = Math.max(0, Math.min(letters.length, place))
    console.update({ prompt: { ...prompt, caret: to } })
    return
  }
  const typed = typedBy(key)
  if (typed !== undefined) insert(console, prompt, typed)
}

/** Text from the clipboard: its first line, made harmless. It is typed, never run. */
export function pasteIntoPrompt(console: Console, prompt: Prompt, text: string): void {
  const first = text.split(/[\r\n]/).find((line) => line !== '') ?? ''
  insert(console, prompt, sanitise(first))
}

function insert(console: Console, prompt: Prompt, typed: string): void {
  const letters = [...graphemesOf(prompt.text)]
  const added = [...graphemesOf(typed)].slice(0, Math.max(0, MAX_LETTERS - letters.length))
  change(console, prompt, {
    letters: letters.toSpliced(prompt.caret, 0, ...added),
    caret: prompt.caret + added.length,
  })
}

function change(
  console: Console,
  prompt: Prompt,
  { letters, caret }: { letters: readonly string[]; caret: number },
): void {
  const text = letters.join('')
  const to = Math.max(0, Math.min(letters.length, caret))
  console.update({ prompt: { ...prompt, text, caret: to, completions: [] } })
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
