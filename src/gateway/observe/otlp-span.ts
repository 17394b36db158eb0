// A request that is over as a span of OpenTelemetry's OTLP/JSON, with the attributes of its GenAI
// conventions. Pure. Metadata only: no prompt, no answer, no key, no user.

import type { RequestRecord } from './request-record.ts'

export interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  status: { code: number }
}

interface Attribute {
  key: string
  value: { stringValue: string } | { intValue: string } | { doubleValue: number }
}

/** SPAN_KIND_CLIENT, as GenAI's conventions have it. */
const CLIENT = 3
const OK = 1
const ERROR = 2

/** `endedAt` in milliseconds since 1970. */
export function spanOf(record: RequestRecord, endedAt: number): Span {
  const { trace, model, durationMs } = record
  const operation = operationOf(record.path)
  const failed = FAILED.has(record.outcome)
  return {
    traceId: trace.traceId,
    spanId: trace.spanId,
    ...(trace.parentSpanId === undefined ? {} : { parentSpanId: trace.parentSpanId }),
    name: `${operation} ${model}`.trim(),
    kind: CLIENT,
    startTimeUnixNano: nanoseconds(endedAt - durationMs),
    endTimeUnixNano: nanoseconds(endedAt),
    attributes: attributesOf(record, operation, failed),
    status: { code: failed ? ERROR : OK },
  }
}

const FAILED: ReadonlySet<RequestRecord['outcome']> = new Set(['refused', 'failed', 'broken'])

function attributesOf(record: RequestRecord, operation: string, failed: boolean): Attribute[] {
  const { ttfbMs } = record
  return [
    ...text('gen_ai.operation.name', operation),
    ...text('gen_ai.provider.name', 'ollama'),
    ...text('gen_ai.request.model', record.model === '' ? undefined : record.model),
    ...whole('gen_ai.usage.input_tokens', record.promptTokens),
    ...whole('gen_ai.usage.output_tokens', record.outputTokens),
    ...real('gen_ai.response.time_to_first_chunk', ttfbMs === undefined ? undefined : ttfbMs / 1e3),
    ...text('url.path', record.path),
    ...whole('http.response.status_code', record.status),
    ...text('error.type', failed ? (record.code ?? record.outcome) : undefined),
    ...text('ogw.request.id', record.id),
    ...text('ogw.dialect', record.dialect),
    ...text('ogw.outcome', record.outcome),
    ...text('ogw.worker', record.worker),
    ...whole('ogw.attempts', record.attempts),
    ...real('ogw.queue.duration', record.queueMs / 1e3),
  ]
}

function operationOf(path: string): string {
  if (/embed/.test(path)) return 'embeddings'
  if (/chat|messages|responses/.test(path)) return 'chat'
  return /generate|completions/.test(path) ? 'text_completion' : 'inference'
}

function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n)
}

function text(key: string, value: string | undefined): Attribute[] {
  return value === undefined ? [] : [{ key, value: { stringValue: value } }]
}

function whole(key: string, value: number | undefined): Attribute[] {
  return value === undefined ? [] : [{ key, value: { intValue: String(Math.round(value)) } }]
}

function real(key: string, value: number | undefined): Attribute[] {
  return value === undefined ? [] : [{ key, value: { doubleValue: value } }]
}

/** One batch as an OTLP/JSON document. */
export function otlpDocument(
  spans: readonly Span[],
  resource: Readonly<Record<string, string>>,
  version: string,
): string {
  const attributes = Object.entries(resource).flatMap(([key, value]) => text(key, value))
  return JSON.stringify({
    resourceSpans: [
      { resource: { attributes }, scopeSpans: [{ scope: { name: 'ogw', version }, spans }] },
    ],
  })
}
