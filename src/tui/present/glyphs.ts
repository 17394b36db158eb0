// The signs of the placement matrix and of states. Each is one cell wide in every terminal that was
// measured; the seed's ⛔ is two in some and one in others, so blocked is ✗.

import { graphemesOf, width } from './text.ts'

export const GLYPH = {
  loaded: '●',
  installed: '✓',
  allowed: '○',
  blocked: '✗',
  unknown: '?',
  exact: '↳',
  prefix: '*',
  up: '●',
  down: '✗',
  draining: '‖',
  starting: '○',
} as const

/** For terminals without these signs, or that draw "ambiguous" ones two cells wide. */
const LETTER: Readonly<Record<string, string>> = {
  '●': 'L',
  '✓': 'I',
  '○': 'A',
  '✗': 'X',
  '↳': '=',
  '‖': 'D',
  '…': '~',
  '·': '.',
  '→': '>',
  '←': '<',
  '▲': '^',
  '▼': 'v',
  '↑': '^',
  '↓': 'v',
  '▸': '>',
  '▾': 'v',
  '◂': '<',
  '▶': '>',
  '◐': '%',
  '◌': '%',
  '↻': '%',
  '█': '#',
  '░': '.',
  '▏': '_',
  '▁': '.',
  '▂': ':',
  '▃': '-',
  '▄': '=',
  '▅': '+',
  '▆': '*',
  '▇': '#',
  '∞': 'inf',
  '─': '-',
  '━': '=',
  '│': '|',
  '┃': '|',
  '┌': '+',
  '┐': '+',
  '└': '+',
  '┘': '+',
  '┏': '+',
  '┓': '+',
  '┗': '+',
  '┛': '+',
  '›': '>',
  '–': '-',
}

const SIGNS = new RegExp(`[${Object.keys(LETTER).join('')}]`, 'gu')

/** The same text with a letter in place of each sign. Letters of names are left alone. */
export function toAscii(text: string): string {
  return text.replace(SIGNS, (sign) => LETTER[sign] ?? '?')
}

const ASCII = /^[ -~]*$/

/**
 * Nothing but printable ASCII, in as many cells: signs become letters, and what is left, such as
 * the letters of a foreign name, becomes `?`. Only `∞` takes more room.
 */
export function toPureAscii(text: string): string {
  if (ASCII.test(text)) return text
  let pure = ''
  for (const letter of graphemesOf(toAscii(text))) {
    pure += ASCII.test(letter) ? letter : '?'.repeat(width(letter))
  }
  return pure
}
