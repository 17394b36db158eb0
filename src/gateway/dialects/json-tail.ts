// Reads the end of one JSON object of which the beginning may be missing: a final line with
// megabytes of `context`, a batch of embeddings. Backwards, a JSON text can be read exactly: an
// opening quote never has a backslash before it, an inner one always has an odd number of them.

import { isRecord } from './json-fields.ts'

export interface JsonTail {
  /** The object's beginning was there too. */
  whole: boolean
  /** Members of the outermost object; of a fragment only the short ones near its end. */
  object: Readonly<Record<string, unknown>>
  /** Of a fragment: members of the objects directly inside it, whose own key may be cut off. */
  inner: Readonly<Record<string, unknown>>
}

/** The object that ends where the bytes end, undefined where none does. */
export function readJsonTail(bytes: Buffer): JsonTail | undefined {
  const end = trimmedEnd(bytes)
  if (bytes[end - 1] !== CLOSE_BRACE) return undefined
  const whole = parseObject(bytes.toString('utf8', 0, end))
  if (whole !== undefined) return { whole: true, object: whole, inner: {} }
  return scanBackwards(bytes, end)
}

/** undefined for everything but a JSON object. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined
  const value = parse(text)
  return isRecord(value) ? value : undefined
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // not JSON, or the middle of some: the caller asks what it is, not why
  }
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Longer values are not counts, states or error texts. */
const MAX_VALUE_BYTES = 4096

interface Scan {
  bytes: Buffer
  depth: number
  /** By depth (1 and 2): where the member that is being read ends. */
  valueEnd: number[]
  /** A value whose key comes next. */
  pending: { depth: number; value: unknown } | undefined
  members: [outer: Map<string, unknown>, inner: Map<string, unknown>]
}

function scanBackwards(bytes: Buffer, end: number): JsonTail | undefined {
  const members: Scan['members'] = [new Map(), new Map()]
  const scan: Scan = { bytes, depth: 1, valueEnd: [0, end - 1, 0], pending: undefined, members }
  let at = end - 2
  while (at >= 0 && scan.depth > 0) {
    if (bytes[at] === QUOTE) {
      const open = openingQuote(bytes, at)
      if (open < 0) break
      takeKey(scan, open, at)
      at = open
    } else {
      step(scan, at)
    }
    at -= 1
  }
  // Depth 0 means that the braces are balanced, and yet the text is no JSON object by itself.
  if (scan.depth <= 0) return undefined
  return {
    whole: false,
    object: Object.fromEntries(members[0]),
    inner: Object.fromEntries(members[1]),
  }
}

function step(scan: Scan, at: number): void {
  switch (scan.bytes[at] ?? 0) {
    case CLOSE_BRACE:
    case CLOSE_BRACKET:
      scan.depth += 1
      scan.valueEnd[scan.depth] = at
      return
    case OPEN_BRACE:
    case OPEN_BRACKET:
      scan.depth -= 1
      return
    case COMMA:
      scan.valueEnd[scan.depth] = at
      return
    case COLON:
      if (scan.depth <= 2) scan.pending = { depth: scan.depth, value: valueAfter(scan, at) }
      return
    default:
  }
}

function valueAfter({ bytes, depth, valueEnd }: Scan, colon: number): unknown {
  const end = valueEnd[depth] ?? 0
  if (end - colon > MAX_VALUE_BYTES) return undefined
  return parse(bytes.toString('utf8', colon + 1, end))
}

/** The string before a colon is a key; the one nearest to the end wins, as it does for a parser. */
function takeKey(scan: Scan, open: number, close: number): void {
  const { pending, bytes } = scan
  if (pending === undefined) return
  scan.pending = undefined
  const members = scan.members[pending.depth === 1 ? 0 : 1]
  const key = bytes.toString('utf8', open + 1, close)
  if (!members.has(key)) members.set(key, pending.value)
}

/** -1 where the string begins before the bytes do. */
function openingQuote(bytes: Buffer, close: number): number {
  let open = previousQuote(bytes, close)
  while (open >= 0 && backslashesBefore(bytes, open) % 2 === 1) open = previousQuote(bytes, open)
  return open
}

/** A negative position would make lastIndexOf count from the end, and the scan never ends. */
function previousQuote(bytes: Buffer, before: number): number {
  return before === 0 ? -1 : bytes.lastIndexOf(QUOTE, before - 1)
}

function backslashesBefore(bytes: Buffer, at: number): number {
  let count = 0
  while (bytes[at - 1 - count] === BACKSLASH) count += 1
  return count
}

const BLANKS = new Set([0x20, 0x09, 0x0a, 0x0d])

function trimmedEnd(bytes: Buffer): number {
  let end = bytes.length
  while (end > 0 && BLANKS.has(bytes[end - 1] ?? 0)) end -= 1
  return end
}
