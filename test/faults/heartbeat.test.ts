// What a waiting SSE client is sent before its answer begins, and that a status which is committed
// early costs it nothing: another worker may still take over, and a failure is told inside.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECT_CASES } from '../support/dialect-cases.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'

const MODEL = 'm:1b'
const SSE = DIALECT_CASES.filter(({ path }) => path.startsWith('/v1/'))
const HEARTBEAT = /^(?:(?:: [^\n]*|event: ping\ndata: \{[^\n]*\})\n\n)+/
const config = {
  admission: { heartbeat: '1s' },
  upstream: { first_byte_grace: '1500ms' },
}

async function sick(): Promise<Rig> {
  const worker = { models: [MODEL], slots: 8, maxLoaded: 2, loadMs: 1 }
  const rig = await startRig({ workers: [worker, worker], config })
  // The faulty one has the model loaded, so that it is asked first.
  await fetch(`${rig.sims[0]?.url}/api/generate`, {
    method: 'POST',
    body: JSON.stringify({ model: MODEL }),
  })
  await rig.gateway.parts.inventory.readNow('node-1')
  return rig
}

const ask = (rig: Rig) =>
  SSE.map(async (dialect) => {
    const answer = await rig.post(dialect.path, { ...dialect.body(MODEL), stream: true })
    return { dialect, answer, text: await answer.text() }
  })

// B062: the first worker is gone after heartbeats went out. Only comments have been sent, so the
// answer of the second one follows them, whole.
test('another worker takes over after an early 200', { timeout: 60_000 }, async () => {
  await using rig = await sick()
  await rig.sims[0]?.faults.add({ kind: 'silent' })
  for (const { dialect, answer, text } of await Promise.all(ask(rig))) {
    assert.equal(answer.status, 200, text)
    assert.match(text, HEARTBEAT, dialect.name)
    const rest = text.replace(HEARTBEAT, '')
    assert.match(rest, /^(?:data|event): /, `${dialect.name}: ${rest.slice(0, 200)}`)
    assert.doesNotMatch(rest, /^: /m, 'no comment inside the answer')
    assert.match(rest, dialect.whole, dialect.name)
  }
  assert.equal(rig.sims[1]?.record.concurrency().now, 0)
  await rig.sims[0]?.faults.clear()
})

test('a failure after an early 200 is told inside', { timeout: 60_000 }, async () => {
  await using rig = await sick()
  for (const sim of rig.sims) await sim.faults.add({ kind: 'silent' })
  for (const { dialect, answer, text } of await Promise.all(ask(rig))) {
    assert.equal(answer.status, 200, text)
    assert.match(text, HEARTBEAT, dialect.name)
    assert.match(text, dialect.broken, `${dialect.name}: ${text}`)
    assert.doesNotMatch(text, dialect.whole, dialect.name)
  }
  for (const sim of rig.sims) await sim.faults.clear()
})

// A frame that comes in halves, with a silence of many heartbeats between them: no byte of the
// gateway's own gets into it.
test('nothing is put inside a frame that is half sent', { timeout: 60_000 }, async () => {
  await using rig = await startRig({
    workers: [{ models: [MODEL] }],
    config: { ...config, upstream: { stream_idle_grace: '300ms' } },
  })
  const halves = ['data: {"choices":[{"index":0,"del', 'ta":{"content":"x"}}]}\n\ndata: [DONE]\n\n']
  await rig.sims[0]?.faults.add({
    kind: 'script',
    headers: { 'content-type': 'text/event-stream' },
    chunks: halves,
    gapMs: 2_500,
    path: '/v1/chat/completions',
  })
  const answer = await rig.post('/v1/chat/completions', {
    model: MODEL,
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
  })
  const text = await answer.text()
  assert.equal(text.replace(HEARTBEAT, ''), halves.join(''))
})
