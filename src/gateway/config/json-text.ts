// Reads JSON as people write it by hand: says line and column of a mistake, and notices a key that
// is written twice, of which `JSON.parse` silently keeps the last.

import type { Problem } from './problem.ts'
import { childPath } from './problem.ts'

/** A config deeper than this is a mistake; the bound keeps the reader from overflowing the stack. */
const MAX_DEPTH = 64

export type ReadJson =
  | { ok: true; value: unknown; duplicates: Problem[] }
  | { ok: false; problem: Problem }

/** The value of a JSON text. A byte order mark in front, as some editors leave it, is let pass. */
export function readJson(text: string): ReadJson {
  const body = text.replace(/^\uFEFF/, '')
  if (body.trim() === '') return { ok: false, problem: { path: '', message: 'the file is empty' } }
  const reader: Reader = { text: body, at: 0, duplicates: [] }
  try {
    readValue(reader, '', 0)
    skipBlanks(reader)
    if (reader.at < body.length) fail(reader, 'nothing may follow the closing brace')
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return { ok: false, problem: { path: '', message: error.message, ...placeOf(body, error.at) } }
  }
  const value: unknown = JSON.parse(body)
  return { ok: true, value, duplicates: reader.duplicates }
}

/** What to say of bytes that are no UTF-8. Read as such, a name or a secret would change silently. */
export function notUtf8(bytes: Buffer): Problem {
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    return { path: '', message: 'the file is UTF-16; save it as UTF-8' }
  }
  const text = bytes.toString('utf8')
  const message = 'this is no UTF-8; save the file as UTF-8'
  return { path: '', message, ...placeOf(text, text.indexOf('\uFFFD')) }
}

interface Reader {
  readonly text: string
  at: number
  readonly duplicates: Problem[]
}

class JsonFault extends Error {
  readonly at: number
  constructor(message: string, at: number) {
    super(message)
    this.at = at
  }
}

// oxlint-disable-next-line no-control-regex -- JSON forbids exactly these inside a string
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/y
const BLANKS = /[ \t\r\n]*/y

function readValue(reader: Reader, path: string, depth: number): void {
  if (depth > MAX_DEPTH) fail(reader, `nested deeper than ${MAX_DEPTH}`)
  skipBlanks(reader)
  const first = reader.text[reader.at]
  if (first === '{') return readObject(reader, path, depth)
  if (first === '[') return readArray(reader, path, depth)
  if (first === '"') return void readString(reader)
  if (take(reader, SCALAR) === undefined) fail(reader, whatIsWrongAt(reader))
}

function readObject(reader: Reader, path: string, depth: number): void {
  const seen = new Set<string>()
  readItems(reader, '}', () => {
    const start = reader.at
    if (reader.text[start] !== '"') fail(reader, whatIsWrongAt(reader, 'a key in double quotes'))
    const key = readString(reader)
    const here = childPath(path, key)
    if (seen.has(key)) {
      const message = 'this key is written twice; only one of them can hold'
      reader.duplicates.push({ path: here, message, ...placeOf(reader.text, start) })
    }
    seen.add(key)
    skipBlanks(reader)
    if (reader.text[reader.at] !== ':') fail(reader, 'a colon belongs after a key')
    reader.at += 1
    readValue(reader, here, depth + 1)
  })
}

function readArray(reader: Reader, path: string, depth: number): void {
  let index = 0
  readItems(reader, ']', () => {
    readValue(reader, childPath(path, index), depth + 1)
    index += 1
  })
}

/** Items between commas, from the opening bracket to `end`. */
function readItems(reader: Reader, end: '}' | ']', readItem: () => void): void {
  reader.at += 1
  skipBlanks(reader)
  if (reader.text[reader.at] === end) {
    reader.at += 1
    return
  }
  for (;;) {
    skipBlanks(reader)
    readItem()
    skipBlanks(reader)
    const next = reader.text[reader.at]
    if (next !== ',' && next !== end) fail(reader, whatIsWrongAt(reader, `a comma or ${end}`))
    const comma = reader.at
    reader.at += 1
    if (next === end) return
    skipBlanks(reader)
    if (reader.text[reader.at] === end) {
      throw new JsonFault('nothing follows this comma; remove it', comma)
    }
  }
}

function readString(reader: Reader): string {
  const text = take(reader, STRING)
  if (text === undefined)
    fail(reader, 'this string is not closed on its line, or has a wrong escape')
  return String(JSON.parse(text))
}

function skipBlanks(reader: Reader): void {
  take(reader, BLANKS)
}

/** What the sticky pattern matches here, past which the reader then stands. */
function take(reader: Reader, pattern: RegExp): string | undefined {
  pattern.lastIndex = reader.at
  const found = pattern.exec(reader.text)?.[0]
  if (found !== undefined) reader.at += found.length
  return found
}

function whatIsWrongAt(reader: Reader, wanted = 'a value'): string {
  const found = reader.text[reader.at]
  if (found === undefined) return `the file ends too early: ${wanted} is missing`
  if (found === '/' || found === '#') return 'JSON has no comments; remove this one'
  if (found === "'") return 'JSON has double quotes only'
  return `${wanted} is wanted here, not ${JSON.stringify(found)}`
}

function fail(reader: Reader, message: string): never {
  throw new JsonFault(message, reader.at)
}

function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
