import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyFor } from '../../support/key-drafts.ts'
import { startRig } from '../../support/rig.ts'
import { until } from '../../support/until.ts'

const messages = [{ role: 'user', content: 'hi' }]

const DIALECTS: [path: string, body: object][] = [
  ['/api/chat', { messages, stream: false }],
  ['/api/generate', { prompt: 'x', stream: false }],
  ['/v1/chat/completions', { messages }],
  ['/v1/responses', { input: 'x' }],
  ['/v1/messages', { messages, max_tokens: 9 }],
]

test('a tenant at its limit gets 429 with the time of the reset, another is untouched', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], tokens: 20 }],
    config: { tenants: [{ name: 'poor', credits: 300, credit_window: '1h' }, { name: 'rich' }] },
  })
  const [poor, rich] = [
    await keyFor(rig, { tenant: 'poor', trust_identity_headers: true }),
    await keyFor(rig, { tenant: 'rich', trust_identity_headers: true }),
  ]
  const ask = (headers: Record<string, string>, [path, body]: [string, object]) =>
    rig.post(path, { model: 'm:1b', ...body }, { headers })
  const first = await ask(poor, ['/api/chat', { messages, stream: false }])
  assert.equal(first.status, 200)
  const { prompt_eval_count: input, eval_count: output } = (await first.json()) as {
    prompt_eval_count: number
    eval_count: number
  }
  const { credits } = rig.gateway.access
  const payer = { tenant: 'poor', account: undefined }
  await until(() => credits.state(payer).used === input + output, {
    timeoutMs: 8000,
    what: 'the real usage',
  })
  credits.reserve(payer, 299 - input - output)
  for (const dialect of DIALECTS) {
    const answer = await ask(poor, dialect)
    const text = await answer.text()
    assert.equal(answer.status, 429, text)
    assert.equal(answer.headers.get('x-should-retry'), 'false')
    const seconds = Number(answer.headers.get('retry-after'))
    const left = Math.ceil((3_600_000 - (Date.now() % 3_600_000)) / 1000)
    assert.ok(Math.abs(seconds - left) <= 5, `${seconds} and not ${left}`)
    assert.match(text, /counted anew from \d{4}-/)
    const other = await ask(rich, dialect)
    assert.equal(other.status, 200, await other.text())
  }
  credits.reserve(payer, 1)
})

// Coding agents ask for 32,000 tokens of output with every request and take a few hundred.
test('a request for far more output than it will take is no reason to refuse it', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], tokens: 5 }],
    config: { tenants: [{ name: 'agent', credits: 10_000 }] },
  })
  const headers = await keyFor(rig, { tenant: 'agent' })
  const ask = { model: 'm:1b', messages, max_tokens: 32_000 }
  const answer = await rig.post('/v1/chat/completions', ask, { headers })
  assert.equal(answer.status, 200, await answer.text())
})

// Whatever becomes of a request, nothing may stay reserved: it would lock its tenant out.
test('every way in which a request can end gives back what it reserved', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], tokens: 50, tokenMs: 20 }],
    config: { tenants: [{ name: 'team', credits: 100_000, actor_credits: 50_000 }] },
  })
  const headers = {
    ...(await keyFor(rig, { tenant: 'team', trust_identity_headers: true })),
    'x-openwebui-user-id': 'anna',
  }
  const post = (body: object, signal?: AbortSignal) =>
    rig.post('/api/chat', { messages, ...body }, { headers, ...(signal && { signal }) })
  const reserved = () =>
    rig.gateway.access.credits.state({ tenant: 'team', account: 'anna' }).reserved

  assert.equal((await post({ model: 'none:1b' })).status, 404)
  await rig.quiet()
  assert.equal(reserved(), 0, 'refused')

  const gone = new AbortController()
  const left = await post({ model: 'm:1b' }, gone.signal)
  assert.equal(left.status, 200)
  assert.ok(reserved() > 0)
  gone.abort()
  await rig.quiet()
  assert.equal(reserved(), 0, 'left in the middle')
  const { used } = rig.gateway.access.credits.state({ tenant: 'team', account: 'anna' })
  assert.ok(used > 0, 'what was made for it is charged')

  await rig.sims[0]?.faults.add({ kind: 'refuse' })
  const failed = await post({ model: 'm:1b' })
  assert.ok(failed.status >= 500)
  await rig.quiet()
  assert.equal(reserved(), 0, 'failed')
})
