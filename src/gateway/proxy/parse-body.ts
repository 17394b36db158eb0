// Bytes in, facts and spans out. Pure, so that it runs on the serving loop for small bodies and
// in a parser thread for large ones.

import type { BodySpans, Dialect, RequestFacts, Span } from '../dialects/dialect.ts'
import type { JsonRecord } from '../dialects/json-fields.ts'
import { GatewayError } from '../errors.ts'
import { scanBody } from './body-scan.ts'

export interface ParsedBody {
  facts: RequestFacts
  spans: BodySpans
}

/** Throws GatewayError invalid_request (or what the dialect says of a missing model). */
export function parseBody(bytes: Buffer, dialect: Dialect, path: string): ParsedBody {
  const spans = scanBody(bytes, path)
  return { facts: dialect.read(objectAt(bytes, spans.whole), path), spans }
}

/** The body's first JSON value, an object. */
export function parseObject(bytes: Buffer, path: string): JsonRecord {
  return objectAt(bytes, scanBody(bytes, path).whole)
}

function objectAt(bytes: Buffer, { start, end }: Span): JsonRecord {
  try {
    // The scanner saw an opening brace, so what parses is an object.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    return JSON.parse(bytes.toString('utf8', start, end)) as JsonRecord
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
