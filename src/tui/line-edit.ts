// One line of text and the place of the caret in it, as keys change them. Pure: prompts and the
// fields of a dialog type alike.

import { typedBy } from './input.ts'
import { graphemesOf } from './present/text.ts'

export interface EditedLine {
  text: string
  /** Counted in letters, not in code units. */
  caret: number
}

/** Longer than any name or command; what is pasted beyond it is cut. */
const MAX_LETTERS = 2_000

/** The line after the key; undefined where the key means nothing to a line. */
export function editLine({ text, caret }: EditedLine, key: string): EditedLine | undefined {
  const letters = [...graphemesOf(text)]
  const place = placeOf(key, caret, letters.length)
  if (place !== undefined) {
    return { text, caret: Math.max(0, Math.min(letters.length, place)) }
  }
  switch (key) {
    case 'backspace':
      return caret === 0 ? { text, caret } : lineOf(letters.toSpliced(caret - 1, 1), caret - 1)
    case 'delete':
    case 'C-d':
      return lineOf(letters.toSpliced(caret, 1), caret)
    case 'C-u':
      return lineOf(letters.slice(caret), 0)
    case 'C-w': {
      const kept = letters
        .slice(0, caret)
        .join('')
        .replace(/\S+\s*$/, '')
      const start = [...graphemesOf(kept)]
      return lineOf([...start, ...letters.slice(caret)], start.length)
    }
    default: {
      const typed = typedBy(key)
      return typed === undefined ? undefined : insertInto({ text, caret }, typed)
    }
  }
}

export function insertInto({ text, caret }: EditedLine, typed: string): EditedLine {
  const letters = [...graphemesOf(text)]
  const added = [...graphemesOf(typed)].slice(0, Math.max(0, MAX_LETTERS - letters.length))
  return lineOf(letters.toSpliced(caret, 0, ...added), caret + added.length)
}

function placeOf(key: string, caret: number, end: number): number | undefined {
  const places: Readonly<Record<string, number>> = {
    left: caret - 1,
    right: caret + 1,
    home: 0,
    'C-a': 0,
    end,
    'C-e': end,
  }
  return places[key]
}

/** Letters that join to one, as a mark that is typed after its letter, leave the caret behind them. */
function lineOf(letters: readonly string[], caret: number): EditedLine {
  const before = letters.slice(0, Math.max(0, caret)).join('')
  return { text: letters.join(''), caret: [...graphemesOf(before)].length }
}
