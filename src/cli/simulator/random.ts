// Seeded randomness: the same seed and the same requests give the same words.

export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** A whole number in [0, below). */
  int(below: number): number
  pick<T>(items: readonly T[]): T
  hex(digits: number): string
  /** Lower-case letters and digits. */
  text(length: number): string
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789'

/** mulberry32: small, fast, and good enough for words that mean nothing. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const int = (below: number): number => Math.floor(next() * below)
  return {
    next,
    int,
    pick: <T>(items: readonly T[]): T => {
      const item = items[int(items.length)]
      if (item === undefined) throw new RangeError('nothing to pick from')
      return item
    },
    hex: (digits) => Array.from({ length: digits }, () => int(16).toString(16)).join(''),
    text: (length) => Array.from({ length }, () => LETTERS[int(LETTERS.length)]).join(''),
  }
}

/** A number that depends on the text alone, to seed per-model values. */
export function hashOf(text: string): number {
  let hash = 2_166_136_261
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16_777_619)
  return hash >>> 0
}

export const WORDS: readonly string[] =
  `the a be to of and in that have it for not on with he as you do at this but his by from they we say her she or an
  will my one all would there their what so up out if about who get which go me when make can like time no just him
  know take people into year your good some could them see other than then now look only come its over think also back
  after use two how our work first well way even new want because any these give day most us great world house large
  call father sentence little does water line air man put big word spell animal live very much hot cause differ`
    .split(/\s+/u)
    .filter((word) => word !== '')
