// What is typed after `/`: words that all must fit. A word is part of a name; `!word` must not fit,
// `~wd` needs its letters only in order, `key:value` looks at one column, and `*` stands for
// anything. Model names have colons themselves, so that only known keys count as keys.

export const FILTER_KEYS = ['model', 'worker', 'state', 'cap', 'tenant', 'actor', 'sev'] as const
export type FilterKey = (typeof FILTER_KEYS)[number]

export const FILTER_HINT = '!not  ~fuzzy  worker: state: cap: tenant: actor: sev:'

export interface Term {
  key: FilterKey | undefined
  value: string
  negate: boolean
  fuzzy: boolean
}

/** What a row offers to the filter. Text without a key is looked for in `text`. */
export type FilterFields = Partial<Record<FilterKey, readonly string[]>> & {
  text: readonly string[]
}

export function parseFilter(text: string): Term[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .map(parseTerm)
    .filter(({ value }) => value !== '')
}

export function fitsFilter(terms: readonly Term[], fields: FilterFields): boolean {
  return terms.every((term) => fitsTerm(term, fields) !== term.negate)
}

function parseTerm(word: string): Term {
  const negate = word.startsWith('!')
  let rest = negate ? word.slice(1) : word
  const colon = rest.indexOf(':')
  const key = FILTER_KEYS.find((one) => one === rest.slice(0, colon))
  if (key !== undefined) rest = rest.slice(colon + 1)
  const fuzzy = rest.startsWith('~')
  return { key, value: fuzzy ? rest.slice(1) : rest, negate, fuzzy }
}

function fitsTerm({ key, value, fuzzy }: Term, fields: FilterFields): boolean {
  const texts = key === undefined ? fields.text : (fields[key] ?? [])
  return texts.some((text) => {
    const lower = text.toLowerCase()
    if (fuzzy) return inOrder(value, lower)
    return value.includes('*') ? fitsGlob(value, lower) : lower.includes(value)
  })
}

function inOrder(letters: string, text: string): boolean {
  let from = 0
  for (const letter of letters) {
    const at = text.indexOf(letter, from)
    if (at === -1) return false
    from = at + letter.length
  }
  return true
}

/** Pieces between stars in order; no expression is built from what somebody typed. */
function fitsGlob(glob: string, text: string): boolean {
  const pieces = glob.split('*')
  let from = 0
  for (const [index, piece] of pieces.entries()) {
    const at = text.indexOf(piece, from)
    if (at === -1 || (index === 0 && at !== 0)) return false
    from = at + piece.length
  }
  const last = pieces.at(-1) ?? ''
  return last === '' || text.endsWith(last)
}
