import assert from 'node:assert/strict'
import { test } from 'node:test'
import { traceContextOf, traceparentOf } from '../../../src/gateway/observe/trace-context.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

const VALID: readonly [header: string, sampled: boolean][] = [
  [`00-${TRACE}-${SPAN}-01`, true],
  [`00-${TRACE}-${SPAN}-00`, false],
  [`00-${TRACE}-${SPAN}-03`, true],
  [`cc-${TRACE}-${SPAN}-01`, true],
  [`cc-${TRACE}-${SPAN}-01-more`, true],
]
for (const [traceparent, sampled] of VALID) {
  test(`${traceparent} is continued with a span of the gateway's own`, () => {
    const trace = traceContextOf({ traceparent, tracestate: 'a=1,b=2' }, !sampled)
    assert.equal(trace.traceId, TRACE)
    assert.equal(trace.parentSpanId, SPAN)
    assert.equal(trace.sampled, sampled)
    assert.equal(trace.tracestate, 'a=1,b=2')
    assert.match(trace.spanId, /^[0-9a-f]{16}$/)
    assert.equal(traceparentOf(trace), `00-${TRACE}-${trace.spanId}-${sampled ? '01' : '00'}`)
  })
}

const INVALID = [
  '',
  'x',
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}-${SPAN}-01 `,
]
for (const traceparent of INVALID) {
  test(`"${traceparent}" begins a new trace, without its state`, () => {
    const trace = traceContextOf({ traceparent, tracestate: 'a=1' }, true)
    assert.notEqual(trace.traceId, TRACE)
    assert.match(traceparentOf(trace), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    assert.equal(trace.parentSpanId, undefined)
    assert.equal(trace.tracestate, undefined)
  })
}

test('a state that is too long is dropped, its trace is not; spans differ', () => {
  const traceparent = `00-${TRACE}-${SPAN}-01`
  const long = traceContextOf({ traceparent, tracestate: 'a'.repeat(600) }, true)
  assert.equal(long.tracestate, undefined)
  assert.equal(long.traceId, TRACE)
  const spans = new Set(Array.from({ length: 1_000 }, () => traceContextOf({}, false).spanId))
  assert.equal(spans.size, 1_000)
})
