// Puts the client's spelling back into the `model` of an answer, on the way past and without
// collecting anything: the bytes are followed through the JSON that they are part of, so that a
// tool's argument that happens to be called "model" is left alone.

/** Chunks in, the same bytes out but for the model; undefined at the end gives what is held back. */
export type ModelRewriter = (chunk: Buffer | undefined) => Buffer[]

const QUOTE = 0x22
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Anthropic's message_start and the events of Responses carry the model one level further in. */
const CARRIERS = new Set(['message', 'response'])
const LONGEST_CARRIER = 8

/**
 * Replaces the value of the `model` member where it is `from`. Never delays more bytes than the
 * member itself has; where nothing matches, the chunks are passed on as they are.
 */
export function createModelRewriter(from: string, to: string): ModelRewriter {
  const member = Buffer.from(`"model":${JSON.stringify(from)}`)
  const replacement = Buffer.from(`"model":${JSON.stringify(to)}`)
  const place = createPlace()
  /** Bytes of the member that have matched so far; across chunks they are what is held back. */
  let matched = 0

  return (chunk) => {
    const out: Buffer[] = []
    if (chunk === undefined) {
      if (matched > 0) out.push(member.subarray(0, matched))
      matched = 0
      return out
    }
    /** Matched bytes that came with earlier chunks. */
    let held = matched
    /** Where the bytes begin that are not yet passed on. */
    let start = 0

    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0
      const opens = place.advance(byte)
      if (byte === member[matched] && (matched > 0 || opens)) {
        matched += 1
        if (matched < member.length) continue
        pushRange(out, chunk, start, at + 1 - (member.length - held))
        out.push(replacement)
        start = at + 1
        matched = 0
        held = 0
      } else if (matched > 0) {
        if (held > 0) out.push(member.subarray(0, held))
        held = 0
        matched = opens ? 1 : 0
      }
    }
    pushRange(out, chunk, start, chunk.length - (matched - held))
    return out
  }
}

function pushRange(out: Buffer[], chunk: Buffer, start: number, end: number): void {
  if (end > start) out.push(chunk.subarray(start, end))
}

interface Place {
  /** Goes on by one byte; true where that byte opens a string that may be the model's key. */
  advance(byte: number): boolean
}

/** Follows nesting and strings; framing such as `data: ` or `[DONE]` keeps it balanced. */
function createPlace(): Place {
  let depth = 0
  let inString = false
  let escaped = false
  /** The last string at depth 1: the key of the object that opens next. */
  let key = ''
  let carried = false

  const inside = (byte: number): void => {
    if (escaped) escaped = false
    else if (byte === BACKSLASH) escaped = true
    else if (byte === QUOTE) inString = false
    if (inString && depth === 1 && key.length <= LONGEST_CARRIER) key += String.fromCharCode(byte)
  }
  const outside = (byte: number): boolean => {
    switch (byte) {
      case QUOTE:
        inString = true
        if (depth === 1) key = ''
        return depth === 1 || (depth === 2 && carried)
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (depth === 1) carried = byte === OPEN_BRACE && CARRIERS.has(key)
        depth += 1
        return false
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth = Math.max(0, depth - 1)
        return false
      default:
        return false
    }
  }
  return {
    advance(byte) {
      if (!inString) return outside(byte)
      inside(byte)
      return false
    },
  }
}
