// The signs of the placement matrix and of states. Each is one cell wide in every terminal that was
// measured; the seed's ⛔ is two in some and one in others, so blocked is ✗.

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
  '▲': '^',
  '▼': 'v',
  '█': '#',
  '░': '.',
  '∞': 'inf',
}

/** The same text with a letter in place of each sign. Letters of names are left alone. */
export function toAscii(text: string): string {
  return text.replace(/[●✓○✗↳‖…·→▲▼█░∞]/gu, (sign) => LETTER[sign] ?? '?')
}
