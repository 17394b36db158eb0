// JSON as Go's encoding/json writes and reads it. The differences to JSON.parse
// are on the wire: other error texts, bytes after the first value ignored, and
// <, > and & escaped.

export class GoJsonError extends Error {
  override readonly name = 'GoJsonError'
}

/** What a body holds: objects keep their keys in order, duplicates included. */
export type GoValue = null | boolean | number | string | readonly GoValue[] | GoObject
export interface GoObject {
  readonly entries: readonly (readonly [string, GoValue])[]
}

const ESCAPES: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
}

/** JSON.stringify with Go's HTML escaping. Keys stay in the order they were set; undefined is omitted. */
export function goJson(value: unknown): string {
  return escapeGo(JSON.stringify(value))
}

function escapeGo(json: string): string {
  return json.replaceAll(/[<>&\u2028\u2029]/gu, (char) => ESCAPES[char] ?? char)
}

/** Go sorts the keys of a map; structs keep theirs. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item)]),
  )
}

export const isObject = (value: GoValue | undefined): value is GoObject =>
  typeof value === 'object' && value !== null && 'entries' in value && !Array.isArray(value)

export const isList = (value: GoValue | undefined): value is readonly GoValue[] =>
  Array.isArray(value)

/** The plain JavaScript value; of duplicate keys the last wins. */
export function plain(value: GoValue | undefined): unknown {
  if (value === undefined) return undefined
  if (isList(value)) return value.map(plain)
  if (isObject(value)) return Object.fromEntries(value.entries.map(([k, v]) => [k, plain(v)]))
  return value
}

/** Reads the first JSON value and ignores what follows it. An empty text is `EOF`. */
export function parseFirst(text: string): GoValue {
  const reader = new Reader(text)
  reader.blank()
  if (reader.done) throw new GoJsonError('EOF')
  try {
    return reader.value()
  } catch (error) {
    // Go stops at 10,000 levels. The stack ends some thousand sooner here, which is said alike.
    if (error instanceof RangeError) throw reader.bad('exceeded max depth')
    throw error
  }
}

/** Go words a character as a rune literal. */
function quoteRune(char: string): string {
  if (char === "'") return String.raw`'\''`
  if (char === '"') return `'"'`
  return `'${JSON.stringify(char).slice(1, -1)}'`
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

const isDigit = (char: string | undefined): boolean => char !== undefined && /^\d$/u.test(char)

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get done(): boolean {
    return this.#at >= this.#text.length
  }

  blank(): void {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at += 1
  }

  value(): GoValue {
    this.blank()
    const char = this.#peek()
    if (char === '{') return this.#object()
    if (char === '[') return this.#array()
    if (char === '"') return this.#string()
    if (char === 't') return this.#literal('true', true)
    if (char === 'f') return this.#literal('false', false)
    if (char === 'n') return this.#literal('null', null)
    if (char === '-' || isDigit(char)) return this.#number()
    throw this.bad('looking for beginning of value')
  }

  #peek(): string {
    const char = this.#text[this.#at]
    if (char === undefined) throw new GoJsonError('unexpected EOF')
    return char
  }

  bad(where: string): GoJsonError {
    return new GoJsonError(`invalid character ${quoteRune(this.#peek())} ${where}`)
  }

  #object(): GoObject {
    this.#at += 1
    const entries: [string, GoValue][] = []
    this.blank()
    if (this.#peek() === '}') {
      this.#at += 1
      return { entries }
    }
    for (;;) {
      this.blank()
      if (this.#peek() !== '"') throw this.bad('looking for beginning of object key string')
      const key = this.#string()
      this.blank()
      if (this.#peek() !== ':') throw this.bad('after object key')
      this.#at += 1
      entries.push([key, this.value()])
      this.blank()
      if (this.#closes('}', 'after object key:value pair')) return { entries }
    }
  }

  #array(): GoValue[] {
    this.#at += 1
    const items: GoValue[] = []
    this.blank()
    if (this.#peek() === ']') {
      this.#at += 1
      return items
    }
    for (;;) {
      items.push(this.value())
      this.blank()
      if (this.#closes(']', 'after array element')) return items
    }
  }

  #closes(end: string, where: string): boolean {
    const char = this.#peek()
    if (char !== ',' && char !== end) throw this.bad(where)
    this.#at += 1
    return char === end
  }

  #string(): string {
    this.#at += 1
    let result = ''
    for (;;) {
      const char = this.#peek()
      if (char < ' ') throw this.bad('in string literal')
      this.#at += 1
      if (char === '"') return result
      result += char === '\\' ? this.#escape() : char
    }
  }

  #escape(): string {
    const char = this.#peek()
    const simple = SIMPLE_ESCAPES[char]
    if (simple === undefined && char !== 'u') throw this.bad('in string escape code')
    this.#at += 1
    if (simple !== undefined) return simple
    let code = 0
    for (let digit = 0; digit < 4; digit += 1) {
      const hex = this.#peek()
      if (!/^[\da-f]$/iu.test(hex)) throw this.bad(String.raw`in \u hexadecimal character escape`)
      code = code * 16 + Number.parseInt(hex, 16)
      this.#at += 1
    }
    return String.fromCharCode(code)
  }

  #literal<T>(word: string, value: T): T {
    for (const expected of word) {
      if (this.#peek() !== expected) {
        throw this.bad(`in literal ${word} (expecting ${quoteRune(expected)})`)
      }
      this.#at += 1
    }
    return value
  }

  #number(): number {
    const start = this.#at
    if (this.#text[this.#at] === '-') this.#at += 1
    if (!isDigit(this.#peek())) throw this.bad('in numeric literal')
    if (this.#text[this.#at] === '0') this.#at += 1
    else this.#digits()
    if (this.#text[this.#at] === '.') {
      this.#at += 1
      if (!isDigit(this.#peek())) throw this.bad('after decimal point in numeric literal')
      this.#digits()
    }
    if (/^[eE]$/u.test(this.#text[this.#at] ?? '')) {
      this.#at += 1
      if (/^[+-]$/u.test(this.#peek())) this.#at += 1
      if (!isDigit(this.#peek())) throw this.bad('in exponent of numeric literal')
      this.#digits()
    }
    return Number(this.#text.slice(start, this.#at))
  }

  #digits(): void {
    while (isDigit(this.#text[this.#at])) this.#at += 1
  }
}
