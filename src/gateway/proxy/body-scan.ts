// Finds in a JSON body, without parsing it, where the values stand that the gateway may have to
// replace, and where the first JSON value ends. A worker decodes with Go's encoding/json: keys
// match without case, the last duplicate wins, bytes after the first value are ignored. So a key
// that occurs in two spellings could run another model than the one that was judged: it is refused.

import type { BodySpans, Span } from '../dialects/dialect.ts'
import { foldKey } from '../dialects/json-fields.ts'
import { emptyBody, noObjectBody } from '../dialects/request-model.ts'
import { GatewayError } from '../errors.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/** Short strings are looked through byte by byte; a call of indexOf pays off only after this many. */
const NEAR_BYTES = 48

/** Throws GatewayError invalid_request, in Ollama's wording where it has one. */
export function scanBody(body: Buffer, path: string): BodySpans {
  const start = skipBlank(body, hasByteOrderMark(body) ? 3 : 0)
  if (start >= body.length) throw emptyBody(path)
  if (body[start] !== OPEN_OBJECT) throw notAnObject(body, start, path)

  const spans: BodySpans = {
    whole: { start, end: start },
    model: undefined,
    keepAlive: undefined,
    numCtx: undefined,
  }
  const spellings = new Map<string, string>()
  let options: Span | undefined
  spans.whole.end = scanMembers(body, start, (key, value) => {
    const folded = foldKey(key)
    const other = spellings.get(folded)
    if (other !== undefined && other !== key) {
      throw invalid(`the keys "${other}" and "${key}" differ only in case; send one of them`)
    }
    spellings.set(folded, key)
    if (folded === 'model') spans.model = value
    else if (folded === 'keep_alive') spans.keepAlive = value
    else if (folded === 'options') options = value
  })
  if (options !== undefined && body[options.start] === OPEN_OBJECT) {
    scanMembers(body, options.start, (key, value) => {
      if (key === 'num_ctx') spans.numCtx = value
    })
  }
  return spans
}

/** Calls `visit` for each member of the object at `start`; returns the index after its end. */
function scanMembers(
  body: Buffer,
  start: number,
  visit: (key: string, value: Span) => void,
): number {
  let at = skipBlank(body, start + 1)
  if (body[at] === CLOSE_OBJECT) return at + 1
  for (;;) {
    if (at >= body.length) throw invalid('unexpected EOF')
    if (body[at] !== QUOTE) throw invalidCharacter(body, at, 'looking for beginning of object key')
    const keyEnd = skipString(body, at)
    const key = decodeKey(body, at, keyEnd)
    at = skipBlank(body, keyEnd)
    if (at >= body.length) throw invalid('unexpected EOF')
    if (body[at] !== COLON) throw invalidCharacter(body, at, 'after object key')
    const valueStart = skipBlank(body, at + 1)
    const valueEnd = skipValue(body, valueStart)
    visit(key, { start: valueStart, end: valueEnd })
    at = skipBlank(body, valueEnd)
    if (body[at] === CLOSE_OBJECT) return at + 1
    if (at >= body.length) throw invalid('unexpected EOF')
    if (body[at] !== COMMA) throw invalidCharacter(body, at, 'after object key:value pair')
    at = skipBlank(body, at + 1)
  }
}

function skipValue(body: Buffer, start: number): number {
  if (start >= body.length) throw invalid('unexpected EOF')
  const first = body[start]
  if (first === QUOTE) return skipString(body, start)
  if (first === OPEN_OBJECT || first === OPEN_ARRAY) return skipNested(body, start)
  let at = start
  while (at < body.length && !endsScalar(body[at])) at += 1
  if (at === start) throw invalidCharacter(body, at, 'looking for beginning of value')
  return at
}

function skipNested(body: Buffer, start: number): number {
  let depth = 0
  let at = start
  while (at < body.length) {
    const byte = body[at]
    if (byte === QUOTE) {
      at = skipString(body, at)
      continue
    }
    at += 1
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth += 1
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1
    if (depth === 0) return at
  }
  throw invalid('unexpected EOF')
}

/** The index after the closing quote of the string that opens at `start`. */
function skipString(body: Buffer, start: number): number {
  const near = Math.min(body.length, start + NEAR_BYTES)
  let at = start + 1
  while (at < near) {
    const byte = body[at]
    if (byte === QUOTE) return at + 1
    at += byte === BACKSLASH ? 2 : 1
  }
  let from = at
  for (;;) {
    const quote = body.indexOf(QUOTE, from)
    if (quote === -1) throw invalid('unexpected EOF')
    if (!isEscaped(body, quote, at)) return quote + 1
    from = quote + 1
  }
}

/** An odd number of backslashes before it; none before `floor` belongs to it. */
function isEscaped(body: Buffer, quote: number, floor: number): boolean {
  let backslashes = 0
  while (quote - 1 - backslashes >= floor && body[quote - 1 - backslashes] === BACKSLASH) {
    backslashes += 1
  }
  return backslashes % 2 === 1
}

function decodeKey(body: Buffer, start: number, end: number): string {
  const raw = body.toString('utf8', start + 1, end - 1)
  if (!raw.includes('\\')) return raw
  try {
    return String(JSON.parse(body.toString('utf8', start, end)))
  } catch (cause) {
    throw new GatewayError(
      { code: 'invalid_request', detail: `invalid object key at byte ${start}` },
      { cause },
    )
  }
}

function skipBlank(body: Buffer, start: number): number {
  let at = start
  while (at < body.length && isBlank(body[at])) at += 1
  return at
}

const isBlank = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const endsScalar = (byte: number | undefined): boolean =>
  byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || isBlank(byte)

const hasByteOrderMark = (body: Buffer): boolean =>
  body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf

/** The first letter tells the type; whether the rest of such a body is JSON does not matter. */
function notAnObject(body: Buffer, start: number, path: string): GatewayError {
  const text = body.toString('latin1', start, start + 5)
  if (text.startsWith('[')) return noObjectBody('array', path)
  if (text.startsWith('"')) return noObjectBody('string', path)
  if (/^[-0-9]/.test(text)) return noObjectBody('number', path)
  if (/^(?:true|false)/.test(text)) return noObjectBody('bool', path)
  if (text.startsWith('null')) return noObjectBody('null', path)
  return invalidCharacter(body, start, 'looking for beginning of value')
}

function invalidCharacter(body: Buffer, at: number, where: string): GatewayError {
  const character = String.fromCharCode(body[at] ?? 0)
  return invalid(`invalid character ${quoted(character)} ${where} (at byte ${at})`)
}

const quoted = (character: string): string => `'${character === "'" ? "\\'" : character}'`

function invalid(detail: string): GatewayError {
  return new GatewayError({ code: 'invalid_request', detail })
}
