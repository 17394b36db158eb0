// Bytes in, facts and spans out. Pure, so that it runs on the serving loop for small bodies and
// in a parser thread for large ones.

import type { BodySpans, Dialect, RequestFacts } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import { foldKey, scanBody } from './body-scan.ts'

export interface ParsedBody {
  facts: RequestFacts
  spans: BodySpans
}

/** Throws GatewayError invalid_request (or what the dialect says of a missing model). */
export function parseBody(bytes: Buffer, dialect: Dialect, path: string): ParsedBody {
  const spans = scanBody(bytes)
  const text = bytes.toString('utf8', spans.whole.start, spans.whole.end)
  return { facts: dialect.read(foldKeys(parseJson(text)), path), spans }
}

function parseJson(text: string): object {
  try {
    // The scanner saw an opening brace, so what parses is an object.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    return JSON.parse(text) as object
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause)
    throw new GatewayError(
      { code: 'invalid_request', detail: `invalid JSON: ${withoutContent(detail)}` },
      { cause },
    )
  }
}

/** V8 quotes the text around the mistake; a prompt has no place in an error or a log. */
function withoutContent(detail: string): string {
  return detail.replace(/, ?"[\s\S]*$/, '').replace(/ in JSON.*?(at position \d+)/, ' $1')
}

function foldKeys(value: object): Record<string, unknown> {
  const folded: Record<string, unknown> = Object.create(null)
  for (const [key, member] of Object.entries(value)) folded[foldKey(key)] = member
  return folded
}
