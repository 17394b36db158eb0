// What a worker is sent: the client's bytes with only the named values replaced, and headers from
// an allow-list. Ollama forwards every header to ollama.com on cloud requests (ollama-api.md T2),
// and answers 403 to a foreign Host or Origin: neither credentials nor origin pass.

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { BodySpans, Span } from '../dialects/dialect.ts'
import { traceparentOf } from '../observe/trace-context.ts'
import type { TraceContext } from '../observe/trace-context.ts'
import { isUndone } from './inflate.ts'

/** New values for the spans that are replaced, as JSON text. */
export interface BodyEdits {
  model?: string | undefined
  keepAlive?: string | undefined
  numCtx?: string | undefined
}

const PASSED_HEADERS = ['accept', 'user-agent'] as const

export interface UpstreamTarget {
  /** Path of the worker's base URL, without a trailing slash. */
  pathPrefix: string
  /** The worker's own headers from the config. */
  headers: Readonly<Record<string, string>>
}

export interface UpstreamRequestInput {
  path: string
  requestId: string
  trace: TraceContext
  clientHeaders: IncomingHttpHeaders
  body: Buffer
  spans: BodySpans
  edits: BodyEdits
}

/** All timeouts of the library are off: silence is judged by the request's own watch. */
export function upstreamRequest(
  target: UpstreamTarget,
  input: UpstreamRequestInput,
): Dispatcher.DispatchOptions {
  const pieces = bodyPieces(input.body, input.spans, input.edits)
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const [only] = pieces
  const single = pieces.length === 1 && only !== undefined
  const headers: Record<string, string> = {
    'content-type': input.clientHeaders['content-type'] ?? 'application/json',
    'accept-encoding': 'identity',
    'x-request-id': input.requestId,
    traceparent: traceparentOf(input.trace),
  }
  if (input.trace.tracestate !== undefined) headers['tracestate'] = input.trace.tracestate
  for (const name of PASSED_HEADERS) {
    const value = input.clientHeaders[name]
    if (typeof value === 'string') headers[name] = value
  }
  Object.assign(headers, target.headers)
  headers['content-length'] = String(length)
  return {
    method: 'POST',
    path: `${target.pathPrefix}${input.path}`,
    headers,
    body: single ? only : bodyOf(pieces, length),
    headersTimeout: 0,
    bodyTimeout: 0,
  }
}

/** Up to this a copy is cheaper than a stream of pieces. */
const JOIN_BYTES = 1024 * 1024

function bodyOf(pieces: readonly Buffer[], length: number): Buffer | Readable {
  return length <= JOIN_BYTES ? Buffer.concat(pieces, length) : Readable.from(pieces)
}

/** The first JSON value of the body with the edited spans replaced; the rest is not copied. */
export function bodyPieces(body: Buffer, spans: BodySpans, edits: BodyEdits): Buffer[] {
  const changes: { span: Span; text: string }[] = []
  const change = (span: Span | undefined, text: string | undefined): void => {
    if (span !== undefined && text !== undefined) changes.push({ span, text })
  }
  change(spans.model, edits.model)
  change(spans.keepAlive, edits.keepAlive)
  change(spans.numCtx, edits.numCtx)
  if (changes.length === 0) return [body.subarray(spans.whole.start, spans.whole.end)]

  changes.sort((a, b) => a.span.start - b.span.start)
  const pieces: Buffer[] = []
  let at = spans.whole.start
  for (const { span, text } of changes) {
    pieces.push(body.subarray(at, span.start), Buffer.from(text))
    at = span.end
  }
  pieces.push(body.subarray(at, spans.whole.end))
  return pieces
}

/** Never passed back: they belong to the connection, or the gateway sets its own. */
const DROPPED_ANSWER_HEADERS = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'content-length',
  'date',
  'server',
  'vary',
  'x-request-id',
  'request-id',
])

/**
 * The worker's head as the client gets it; length and framing are set by who writes it. A coding
 * that the gateway knows has been undone on the way. What the worker's own `Connection` names was
 * for the gateway alone (RFC 9110 7.6.1).
 */
export function answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const decompressed = isUndone(headers['content-encoding'])
  const hopByHop = connectionOptions(headers.connection)
  const kept: OutgoingHttpHeaders = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || DROPPED_ANSWER_HEADERS.has(name) || hopByHop.has(name)) continue
    if (name.startsWith('access-control-')) continue
    if (decompressed && name === 'content-encoding') continue
    kept[name] = value
  }
  return kept
}

const NO_OPTIONS: ReadonlySet<string> = new Set()

/** Nearly every worker says nothing or one of two words here; both name no header to look for. */
function connectionOptions(connection: string | string[] | undefined): ReadonlySet<string> {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') {
    return NO_OPTIONS
  }
  const options = String(connection).toLowerCase().split(',')
  return new Set(options.map((option) => option.trim()))
}
