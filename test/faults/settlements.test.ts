// A thousand requests at once, of which some end well, some are left by their clients, some break in
// mid-stream, some fail and some are sent twice: what tenants and actors are charged is exactly what
// was used, and nothing stays reserved.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Fault } from '../../src/cli/simulator/worker.ts'
import { keyFor } from '../support/key-drafts.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'

const REQUESTS = 1_000
const TENANTS = ['red', 'green']
const ACTORS = ['anna', 'ben', 'cem']

/** Each strikes a few requests on the first worker; the second has none. */
const FAULTS: readonly Fault[] = [
  { kind: 'cut', after: 2, how: 'rst', times: 40, path: '/api/chat' },
  { kind: 'cut', after: 3, how: 'fin', times: 20, path: '/v1/chat/completions' },
  { kind: 'stream_error', after: 1, times: 20, path: '/api/generate' },
  { kind: 'reset', on: 'request', times: 40, path: '/v1/messages' },
  { kind: 'status', status: 500, body: '{"error":"no"}', times: 20, path: '/v1/completions' },
]

const messages = [{ role: 'user', content: 'hi' }]
const SHAPES: readonly { path: string; body: Record<string, unknown> }[] = [
  { path: '/api/chat', body: { messages } },
  { path: '/api/chat', body: { messages, stream: false } },
  { path: '/api/generate', body: { prompt: 'hi' } },
  { path: '/v1/chat/completions', body: { messages, stream: true } },
  { path: '/v1/completions', body: { prompt: 'hi' } },
  { path: '/v1/messages', body: { messages, max_tokens: 32_000 } },
  { path: '/api/chat', body: { messages, model: 'none:1b' } },
]

interface Sent {
  tenant: string
  headers: Record<string, string>
  index: number
}

/** The log line of a request that is over. */
interface Done {
  tenant: string
  actor: string
  path: string
  outcome: string
  attempts: number
  prompt_tokens: number
  output_tokens: number
}

/**
 * Every tenth client leaves in the middle of its answer, another tenth at a moment of its own, mostly
 * while it waits.
 */
async function ask(rig: Rig, { headers, index }: Sent): Promise<void> {
  const { path, body } = SHAPES[index % SHAPES.length] ?? { path: '', body: {} }
  const leave = new AbortController()
  const timed = index % 10 === 5 ? [AbortSignal.timeout((index * 7) % 3000)] : []
  const signal = AbortSignal.any([leave.signal, ...timed])
  try {
    const answer = await rig.post(path, { model: 'm:1b', ...body }, { headers, signal })
    if (index % 10 === 0) {
      await answer.body?.getReader().read()
      leave.abort()
    } else {
      await answer.text()
    }
  } catch (error) {
    // A broken stream and a client that left end in an exception here, and in an account there.
    if (!(error instanceof Error)) throw error
  }
}

test('a thousand settlements at once, however they end, sum up to what was used', async () => {
  await using rig = await startRig({
    workers: [
      { models: ['m:1b'], slots: 40, tokens: 6, tokenMs: 3 },
      { models: ['m:1b'], slots: 40, tokens: 6, tokenMs: 3 },
    ],
    workerConfig: { max_concurrent: 40 },
    config: {
      admission: { max_queue: REQUESTS, max_wait: '60s' },
      tenants: TENANTS.map((name) => ({ name, credits: 10_000_000, actor_credits: 5_000_000 })),
    },
  })
  for (const fault of FAULTS) await rig.sims[0]?.faults.add(fault)
  const keys = new Map<string, Record<string, string>>()
  for (const tenant of TENANTS) {
    keys.set(tenant, await keyFor(rig, { tenant, trust_identity_headers: true }))
  }
  const all = Array.from({ length: REQUESTS }, (_, index): Sent => {
    const tenant = TENANTS[index % TENANTS.length] ?? ''
    const user = ACTORS[index % ACTORS.length] ?? ''
    return { tenant, index, headers: { ...keys.get(tenant), 'x-openwebui-user-id': user } }
  })
  await Promise.all(all.map((sent) => ask(rig, sent)))
  await rig.quiet()
  await rig.gateway.access.flush()

  const { credits, usage } = rig.gateway.access
  const records = rig.done as unknown as Done[]
  assert.ok(records.length > REQUESTS * 0.7, `${records.length} came in`)
  const outcomes = new Set(records.map(({ outcome }) => outcome))
  for (const outcome of ['ok', 'broken', 'client_gone', 'refused']) {
    assert.ok(outcomes.has(outcome), `there is one that is ${outcome}: ${[...outcomes].join()}`)
  }
  assert.ok(records.some(({ attempts }) => attempts > 1))
  const tokensOf = (tenant: string, actor?: string): number =>
    records
      .filter((line) => line.tenant === tenant && (actor === undefined || line.actor === actor))
      .reduce((sum, line) => sum + line.prompt_tokens + line.output_tokens, 0)
  const booked = new Map((await usage.totals('actor', 0)).map((total) => [total.name, total]))
  for (const tenant of TENANTS) {
    const { used, reserved } = credits.state({ tenant, account: undefined })
    assert.deepEqual({ used, reserved }, { used: tokensOf(tenant), reserved: 0 }, tenant)
    for (const actor of ACTORS) {
      const account = credits.state({ tenant, account: actor })
      const wanted = { used: tokensOf(tenant, actor), reserved: 0 }
      assert.deepEqual({ used: account.used, reserved: account.reserved }, wanted, actor)
      const { prompt_tokens = 0, output_tokens = 0 } = booked.get(`${tenant}/${actor}`) ?? {}
      assert.equal(prompt_tokens + output_tokens, wanted.used, `usage of ${actor}`)
    }
  }
  // What a whole answer costs is what its worker said, to the token; on /v1 only where it was asked.
  for (const { outcome, output_tokens: output, path } of records) {
    if (outcome === 'ok' && path.startsWith('/api/')) assert.equal(output, 6, path)
  }
})
