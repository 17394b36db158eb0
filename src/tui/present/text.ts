// Text in terminal cells. Names of models and workers, errors of workers and user agents come from
// strangers: they may be two cells wide a letter, or carry escape codes that move the cursor or
// write the clipboard. Everything that CLI and console draw passes through here.
//
// Widths agree with `string-width`, by which Ink measures; a test compares the two.

import { WIDE_RANGES } from './wide-ranges.ts'

const PRINTABLE_ASCII = /^[ -~]*$/
const ELLIPSIS = '…'

/** How many cells the text takes. It must be sanitised: control characters count as nothing. */
export function width(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length
  let cells = 0
  for (const { segment } of graphemes(text)) cells += clusterWidth(segment)
  return cells
}

/** Fills up to so many cells. Longer text is left as it is; see `fit`. */
export function pad(text: string, cells: number, align: 'left' | 'right' = 'left'): string {
  const missing = cells - width(text)
  if (missing <= 0) return text
  return align === 'left' ? text + ' '.repeat(missing) : ' '.repeat(missing) + text
}

/** Cuts the end off, never through a letter, and says so with `…`. May be one cell short. */
export function truncateEnd(text: string, cells: number, ellipsis: string = ELLIPSIS): string {
  if (width(text) <= cells) return text
  const room = cells - width(ellipsis)
  if (room < 0) return ''
  return takeStart(text, room) + ellipsis
}

/**
 * Cuts the middle out, so that a model keeps its tag: `a-model-with…:8b-q4_K_M`. Where the tag
 * alone would take more than two thirds of the room, the end is cut like any other text.
 */
export function truncateMiddle(text: string, cells: number, ellipsis: string = ELLIPSIS): string {
  if (width(text) <= cells) return text
  const room = cells - width(ellipsis)
  if (room < 2) return truncateEnd(text, cells, ellipsis)
  const colon = text.lastIndexOf(':')
  const tag = colon > 0 ? text.slice(colon) : takeEnd(text, Math.floor(room / 2))
  if (width(tag) * 3 > room * 2) return truncateEnd(text, cells, ellipsis)
  return takeStart(text, room - width(tag)) + ellipsis + tag
}

/** Exactly so many cells: cut where it is longer, filled where it is shorter. */
export function fit(text: string, cells: number, cut: 'end' | 'middle' = 'end'): string {
  return pad(cut === 'end' ? truncateEnd(text, cells) : truncateMiddle(text, cells), cells)
}

/** Whole words in as many lines as they need; a word that is longer than a line is not broken. */
export function wrapWords(text: string, cells: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && width(line) + width(word) + 1 > cells) {
      lines.push(line)
      line = ''
    }
    line += (line === '' ? '' : ' ') + word
  }
  return [...lines, line]
}

// Control and format characters, line separators, lone surrogates, and letters that show nothing
// (Hangul fillers and the like). Bidi controls are among the format characters.
const UNSAFE = new RegExp(
  [
    String.raw`\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Cs}`,
    String.raw`\u034f|\u115f|\u1160|\u17b4|\u17b5|[\u180b-\u180f]|\u3164|\uffa0`,
  ].join('|'),
  'gu',
)

/**
 * Makes foreign text safe to draw on one line: what could steer a terminal or hide is written as
 * `\u001b`. The joiner inside an emoji (👩‍👩‍👧) stays, it is part of the picture.
 */
export function sanitise(text: string): string {
  if (PRINTABLE_ASCII.test(text)) return text
  return text.replace(UNSAFE, (character, offset: number) =>
    character === '\u200d' && joinsEmoji(text, offset) ? character : escapeCharacter(character),
  )
}

/** Escapes within JSON text what JSON.stringify leaves raw; the value it parses to is the same. */
export function sanitiseJson(json: string): string {
  return json.replace(UNSAFE, (character) =>
    character === '\n' ? character : escapeUnits(character),
  )
}

function joinsEmoji(text: string, offset: number): boolean {
  const before = text.slice(0, offset).replace(/(?:\ufe0f|\p{Emoji_Modifier})+$/u, '')
  return (
    /\p{Extended_Pictographic}$/u.test(before) &&
    /^\p{Extended_Pictographic}/u.test(text.slice(offset + 1))
  )
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return code > 0xffff ? `\\u{${code.toString(16)}}` : escapeUnits(character)
}

function escapeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('')
}

function takeStart(text: string, cells: number): string {
  let taken = ''
  let used = 0
  for (const { segment } of graphemes(text)) {
    used += clusterWidth(segment)
    if (used > cells) break
    taken += segment
  }
  return taken
}

function takeEnd(text: string, cells: number): string {
  let taken = ''
  let used = 0
  for (const { segment } of [...graphemes(text)].toReversed()) {
    used += clusterWidth(segment)
    if (used > cells) break
    taken = segment + taken
  }
  return taken
}

/** The letters of a text as a person counts them, each a string of its own. */
export function* graphemesOf(text: string): Generator<string, void, undefined> {
  for (const { segment } of graphemes(text)) yield segment
}

let segmenter: Intl.Segmenter | undefined

/** Made on first use: a command that prints plain ASCII never pays for it. */
function graphemes(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter()
  return segmenter.segment(text)
}

const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Cs}]/u
const RGI_EMOJI = /^\p{RGI_Emoji}$/v
const KEYCAP = /^[\d#*]\u20e3$/
/** The longest real emoji cluster is shorter; a longer one is an attack on the expressions. */
const MAX_EMOJI_UNITS = 50

function clusterWidth(cluster: string): number {
  if (PRINTABLE_ASCII.test(cluster)) return cluster.length
  const start = cluster.search(VISIBLE)
  if (start === -1) return 0
  if (isEmoji(cluster)) return 2
  let cells = 0
  let first = true
  let previous = 0
  for (const character of cluster.slice(start)) {
    const code = character.codePointAt(0) ?? 0
    if (first || addsWidth(character, code, previous)) cells += isWide(code) ? 2 : 1
    first = false
    previous = code
  }
  return cells
}

function isEmoji(cluster: string): boolean {
  if (cluster.length > MAX_EMOJI_UNITS) return false
  if (RGI_EMOJI.test(cluster) || KEYCAP.test(cluster)) return true
  return (
    cluster.includes('\u200d') && (cluster.match(/\p{Extended_Pictographic}/gu)?.length ?? 0) > 1
  )
}

/** Spacing marks, half-width forms and jamo that do not join the syllable before them. */
function addsWidth(character: string, code: number, previous: number): boolean {
  if (isLeadingJamo(code)) return true
  if (isVowelJamo(code)) return !isLeadingJamo(previous)
  if (isTrailingJamo(code)) return !isVowelJamo(previous)
  if (isLeadingJamo(previous)) return true
  return /\p{Mc}/u.test(character) || (code >= 0xff00 && code <= 0xffef)
}

const isLeadingJamo = (code: number): boolean =>
  (code >= 0x1100 && code <= 0x115f) || (code >= 0xa960 && code <= 0xa97c)
const isVowelJamo = (code: number): boolean =>
  (code >= 0x1160 && code <= 0x11a7) || (code >= 0xd7b0 && code <= 0xd7c6)
const isTrailingJamo = (code: number): boolean =>
  (code >= 0x11a8 && code <= 0x11ff) || (code >= 0xd7cb && code <= 0xd7fb)

function isWide(code: number): boolean {
  let low = 0
  let high = WIDE_RANGES.length / 2 - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    if (code < (WIDE_RANGES[middle * 2] ?? 0)) high = middle - 1
    else if (code > (WIDE_RANGES[middle * 2 + 1] ?? 0)) low = middle + 1
    else return true
  }
  return false
}
