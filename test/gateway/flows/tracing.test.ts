// Traces through the real gateway: the context on to the worker, and spans to a collector that
// works, fails and comes back.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { startRig } from '../../support/rig.ts'
import { until } from '../../support/until.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: Record<string, unknown> }[]
  status: { code: number }
}

async function collector() {
  const state = { status: 200, spans: [] as Span[], bodies: [] as string[], paths: [] as string[] }
  const server = createServer((req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      res.writeHead(state.status).end('{}')
      if (state.status !== 200) return
      const body = Buffer.concat(parts).toString()
      state.bodies.push(body)
      state.paths.push(req.url ?? '')
      const document = JSON.parse(body) as {
        resourceSpans: { scopeSpans: { spans: Span[] }[] }[]
      }
      for (const { scopeSpans } of document.resourceSpans) {
        for (const { spans } of scopeSpans) state.spans.push(...spans)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    state,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const chat = (content = 'SECRET-PROMPT') => ({
  model: 'qwen3:8b',
  stream: false,
  user: 'SECRET-USER',
  messages: [{ role: 'user', content }],
})
const withTrace = { headers: { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' } }

/** Headers of the inference request that the first worker saw last. */
function seenBy(rig: Awaited<ReturnType<typeof startRig>>): Record<string, string> {
  const seen = rig.sims[0]?.record.requests({ path: '/v1/chat/completions' }).at(-1)
  assert.ok(seen)
  return Object.fromEntries(seen.headers.map(([name, value]) => [name.toLowerCase(), value]))
}

test('without tracing the context goes to the worker all the same, and nothing is loaded', async () => {
  await using rig = await startRig()
  assert.equal((await rig.post('/v1/chat/completions', chat(), withTrace)).status, 200)
  const headers = seenBy(rig)
  assert.match(headers['traceparent'] ?? '', new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`))
  assert.doesNotMatch(headers['traceparent'] ?? '', new RegExp(PARENT))
  assert.equal(headers['tracestate'], 'vendor=1')
  const line = await rig.logged('request.done')
  assert.equal(line['trace'], TRACE)

  await rig.post('/v1/chat/completions', chat())
  const own = seenBy(rig)
  assert.match(own['traceparent'] ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
  assert.equal(own['tracestate'], undefined)
})

test('each request is a span with its metadata and none of its content', async () => {
  using sink = await collector()
  await using rig = await startRig({ config: { otel: { endpoint: sink.url } } })
  await rig.post('/v1/chat/completions', chat(), withTrace)
  await rig.post('/api/embed', { model: 'no-such-model', input: 'SECRET-PROMPT' })
  const notSampled = { headers: { traceparent: `00-${'1'.repeat(32)}-${PARENT}-00` } }
  await rig.post('/v1/chat/completions', chat(), notSampled)
  await until(() => sink.state.spans.length >= 2, { what: 'two spans', timeoutMs: 20_000 })
  const [first, second, ...more] = sink.state.spans
  assert.deepEqual(more, [])
  assert.equal(sink.state.paths[0], '/v1/traces')
  assert.ok(first !== undefined && second !== undefined)
  assert.equal(first.traceId, TRACE)
  assert.equal(first.parentSpanId, PARENT)
  assert.equal(first.name, 'chat qwen3:8b')
  assert.equal(first.kind, 3)
  assert.equal(first.status.code, 1)
  assert.ok(BigInt(first.endTimeUnixNano) >= BigInt(first.startTimeUnixNano))
  const of = Object.fromEntries(
    first.attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
  )
  assert.equal(of['gen_ai.provider.name'], 'ollama')
  assert.equal(of['gen_ai.request.model'], 'qwen3:8b')
  assert.equal(of['ogw.worker'], 'node-1')
  assert.equal(of['ogw.outcome'], 'ok')
  assert.ok(Number(of['gen_ai.usage.output_tokens']) > 0)
  assert.equal(second.status.code, 2)
  assert.ok(second.attributes.some(({ key }) => key === 'error.type'))
  assert.doesNotMatch(sink.state.bodies.join(''), /SECRET/)
})

test('a collector that fails is told once and loses nothing that fits', async () => {
  using sink = await collector()
  sink.state.status = 503
  await using rig = await startRig({ config: { otel: { endpoint: `${sink.url}/otlp/v1/traces` } } })
  await rig.post('/v1/chat/completions', chat())
  const failed = await rig.logged('trace.export_failed')
  assert.match(String(failed['reason']), /503/)
  await rig.post('/v1/chat/completions', chat())
  sink.state.status = 200
  await rig.logged('trace.export_recovered')
  await until(() => sink.state.spans.length === 2, { what: 'both spans', timeoutMs: 20_000 })
  assert.equal(sink.state.paths[0], '/otlp/v1/traces')
  assert.equal(rig.log.filter(({ event }) => event === 'trace.export_failed').length, 1)
})
