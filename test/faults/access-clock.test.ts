// The wall clock jumps, over the end of a window and of a key, and back: nobody is locked out for
// longer than the window it is now, nobody gets new credits by it, and a key counts by the clock.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { keyFor } from '../support/key-drafts.ts'
import { startRig } from '../support/rig.ts'

const HOUR_MS = 3_600_000

test('windows and keys follow a wall clock that jumps on and back', async (t) => {
  const noon = Date.UTC(2026, 5, 1, 12)
  const begun = performance.now()
  let ahead = 0
  const clock = mock.method(Date, 'now', () => noon + ahead + (performance.now() - begun))
  t.after(() => clock.mock.restore())
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], tokens: 10 }],
    config: {
      auth: { mode: 'keys' },
      tenants: [{ name: 'team', credits: 500, credit_window: '1h' }],
    },
  })
  const lasting = await keyFor(rig, { tenant: 'team' })
  const expiring = await keyFor(rig, { tenant: 'team', expires_ms: noon + 90 * 60_000 })
  const { credits } = rig.gateway.access
  const payer = { tenant: 'team', account: undefined }
  const ask = async (headers: Record<string, string>) => {
    const body = { model: 'm:1b', prompt: 'hi', stream: false, options: { num_predict: 10 } }
    const answer = await rig.post('/api/generate', body, { headers })
    await answer.text()
    await rig.quiet()
    return { status: answer.status, retryAfter: Number(answer.headers.get('retry-after')) }
  }
  const spendAll = (): void => {
    const { used } = credits.state(payer)
    const spent = credits.reserve(payer, 500 - used)
    assert.ok(spent.ok)
    spent.reservation.settle(500 - used)
  }
  const isRefusedFor = async (seconds: number): Promise<void> => {
    const { status, retryAfter } = await ask(lasting)
    assert.equal(status, 429)
    assert.ok(retryAfter > seconds - 60 && retryAfter <= seconds, String(retryAfter))
  }

  assert.equal((await ask(expiring)).status, 200)
  spendAll()
  await isRefusedFor(3600)
  ahead = HOUR_MS
  assert.equal((await ask(lasting)).status, 200, 'another window')
  assert.equal((await ask(expiring)).status, 200)
  ahead = 2 * HOUR_MS
  assert.equal((await ask(expiring)).status, 401, 'the key has expired')
  assert.equal((await ask(lasting)).status, 200)
  spendAll()
  ahead = HOUR_MS / 2
  assert.equal((await ask(expiring)).status, 429, 'the key holds again; its tenant has spent all')
  await isRefusedFor(1800)
  ahead = -24 * HOUR_MS
  await isRefusedFor(3600)
  const { used, reserved } = credits.state(payer)
  assert.deepEqual([used, reserved], [500, 0])
  ahead = -23 * HOUR_MS
  assert.equal((await ask(lasting)).status, 200, 'the next window by the clock that holds now')
})
