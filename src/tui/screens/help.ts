// The help, made from the keymap.

import { type KeyContext, keyName } from '../keymap.ts'
import { KEYMAP } from '../keys.ts'
import { fit, pad, width } from '../present/text.ts'
import { type Line, lineOf, span } from '../theme.ts'

const SECTIONS: readonly (readonly [KeyContext, string])[] = [
  ['placement', 'PLACEMENT'],
  ['workers', 'WORKERS'],
  ['ruleset', 'RULESET'],
  ['requests', 'REQUESTS'],
  ['models', 'MODELS'],
  ['tenants', 'TENANTS'],
  ['events', 'EVENTS'],
  ['everywhere', 'EVERYWHERE'],
]

const SIGNS = [
  '● loaded   ✓ installed and allowed   ○ allowed, not installed   ✗ blocked   ? inventory unknown',
  '↳ an exact rule decides   * prefix rule   ! loaded but blocked   ~ on its way   2 requests running',
  'worker: ● up   ✗ down   ‖ draining   ○ starting   ! breaker open',
]

const KEY_CELLS = 14

export interface HelpAsk {
  /** Its keys come first. */
  context: KeyContext
  filter: string
}

/** In as many columns as there is room for; `filter` keeps what has its words. */
export function helpLines(columns: number, { context, filter }: HelpAsk): Line[] {
  const first = (on: KeyContext): number => (on === context ? 0 : on === 'everywhere' ? 1 : 2)
  const sections = SECTIONS.toSorted(([a], [b]) => first(a) - first(b))
  const entries = sections.flatMap(([on, title]) => sectionLines(on, title, filter))
  const across = columns >= 150 ? 3 : columns >= 100 ? 2 : 1
  const cells = Math.floor((columns - 1) / across)
  const tall = Math.ceil(entries.length / across)
  const lines: Line[] = []
  for (let row = 0; row < tall; row += 1) {
    const line = [span(' ')]
    for (let column = 0; column < across; column += 1) {
      const entry = entries[column * tall + row]
      const text = entry === undefined ? '' : fit(entry.text, cells - 1)
      line.push(span(pad(text, cells), entry?.title === true ? 'bold' : 'plain'))
    }
    lines.push(line)
  }
  return [...lines, [], ...SIGNS.map((text) => lineOf(` ${text}`, 'dim'))]
}

interface Entry {
  text: string
  title?: true
}

function sectionLines(on: KeyContext, title: string, filter: string): Entry[] {
  const wanted = filter.toLowerCase()
  const rows = KEYMAP.filter((one) => one.on === on)
    .map(({ keys, help }) => ({ keys: keys.map(keyName).join(' '), help }))
    .filter(({ keys, help }) => `${keys} ${help}`.toLowerCase().includes(wanted))
    .map(({ keys, help }) => ({ text: `${keys}${gap(keys)}${help}` }))
  return rows.length === 0 ? [] : [{ text: title, title: true }, ...rows, { text: '' }]
}

const gap = (keys: string): string => ' '.repeat(Math.max(1, KEY_CELLS - width(keys)))
