// W3C Trace Context: which trace a request belongs to, and how the worker is told. Pure, but for
// the random ids.

import { randomUUID } from 'node:crypto'

export interface TraceContext {
  /** 32 hex digits. */
  traceId: string
  /** The gateway's own span, 16 hex digits: the parent of whatever the worker does. */
  spanId: string
  /** The client's span; undefined where the trace begins here. */
  parentSpanId: string | undefined
  /** Whether it is recorded: whoever began the trace decides. */
  sampled: boolean
  /** Of other systems, passed on as it came. */
  tracestate: string | undefined
}

/** Version, trace, span, flags; a later version may have more behind a further dash. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)
/** As much as every system must pass on. */
const MAX_TRACESTATE = 512

type Header = string | readonly string[] | undefined

/**
 * A header that is not valid begins a new trace, as the standard says, and drops its state.
 * `recording`: whether traces that begin here are recorded.
 */
export function traceContextOf(
  headers: Readonly<Record<string, Header>>,
  recording: boolean,
): TraceContext {
  const traceparent = headers['traceparent']
  const tracestate = headers['tracestate']
  const spanId = newSpanId()
  const parent = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null
  const [, version, traceId = NO_TRACE, parentId = NO_SPAN, flags = '00', more] = parent ?? []
  const known = version !== 'ff' && (version !== '00' || more === undefined)
  if (!known || traceId === NO_TRACE || parentId === NO_SPAN) {
    return {
      traceId: randomUUID().replaceAll('-', ''),
      spanId,
      parentSpanId: undefined,
      sampled: recording,
      tracestate: undefined,
    }
  }
  const state = typeof tracestate === 'string' ? tracestate : tracestate?.join(',')
  return {
    traceId,
    spanId,
    parentSpanId: parentId,
    sampled: (Number.parseInt(flags, 16) & 1) === 1,
    tracestate: state === undefined || state.length > MAX_TRACESTATE ? undefined : state,
  }
}

/** For the worker. */
export function traceparentOf({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`
}

function newSpanId(): string {
  // Of a random uuid only the first 13 digits and those behind its variant are all random.
  const id = randomUUID()
  return `${id.slice(0, 8)}${id.slice(28)}`
}
