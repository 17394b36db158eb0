// From what the terminal library hands over to names of keys. One event may hold several keys: a
// held key arrives over SSH as `jjj`, and Ctrl or Alt arrive as the bare letter with a flag, so
// that whoever looks at the letter alone denies on Ctrl-D.

import { graphemesOf } from './present/text.ts'

/** What the library tells beside the text. */
export interface KeyFlags {
  upArrow: boolean
  downArrow: boolean
  leftArrow: boolean
  rightArrow: boolean
  pageDown: boolean
  pageUp: boolean
  home: boolean
  end: boolean
  return: boolean
  escape: boolean
  ctrl: boolean
  shift: boolean
  tab: boolean
  backspace: boolean
  delete: boolean
  meta: boolean
}

const NAMED: readonly (readonly [keyof KeyFlags, string])[] = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageDown', 'pgdn'],
  ['pageUp', 'pgup'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'esc'],
  ['backspace', 'backspace'],
  ['delete', 'delete'],
]

/** More keys in one event are no typing. */
const MAX_KEYS = 512

/** The keys of one event, in order. Letters stand for themselves. */
export function keysOf(input: string, flags: KeyFlags): string[] {
  if (flags.tab) return [flags.shift ? 'S-tab' : 'tab']
  const named = NAMED.find(([flag]) => flags[flag])
  if (named !== undefined) return [withModifiers(named[1], flags)]
  if (input === '') return []
  if (flags.ctrl || flags.meta) return [withModifiers(input === ' ' ? 'space' : input, flags)]
  const keys: string[] = []
  for (const letter of graphemesOf(input)) {
    if (keys.length === MAX_KEYS) break
    keys.push(...nameOf(letter))
  }
  return keys
}

/** The text that a key types into a prompt; undefined for those that type none. */
export function typedBy(key: string): string | undefined {
  if (key === 'space') return ' '
  return [...graphemesOf(key)].length === 1 ? key : undefined
}

function withModifiers(name: string, { ctrl, meta }: KeyFlags): string {
  if (ctrl) return `C-${name}`
  return meta && name !== 'esc' ? `M-${name}` : name
}

const CONTROL: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\r\n': 'enter',
  '\t': 'tab',
  '\b': 'backspace',
  '\u007f': 'backspace',
  '\u001b': 'esc',
  ' ': 'space',
}

function nameOf(letter: string): string[] {
  const known = CONTROL[letter]
  if (known !== undefined) return [known]
  const code = letter.codePointAt(0) ?? 0
  if (code >= 0x20) return [letter]
  // A control letter within other keys: Ctrl with the letter that the terminal cut it from.
  return code >= 1 && code <= 26 ? [`C-${String.fromCharCode(code + 96)}`] : []
}
