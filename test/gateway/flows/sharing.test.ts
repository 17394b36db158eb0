import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../../support/rig.ts'
import { keyFor } from '../../support/key-drafts.ts'
import { until } from '../../support/until.ts'

const messages = [{ role: 'user', content: 'hi' }]

test('a tenant whose limit is raised has its waiters go at once', async () => {
  await using rig = await startRig({
    workers: [{ models: ['m:1b'], slots: 2, tokens: 200, tokenMs: 20 }],
    config: { tenants: [{ name: 'small', max_in_flight: 1 }] },
  })
  const headers = await keyFor(rig, { tenant: 'small' })
  const leave = new AbortController()
  const ask = () =>
    rig.post('/api/chat', { model: 'm:1b', messages }, { headers, signal: leave.signal })
  const first = await ask()
  const second = ask()
  const { scheduler } = rig.gateway.parts
  await until(() => scheduler.waitingCount() === 1, { what: 'the second to wait' })
  await rig.gateway.access.tenants.set('small', { max_in_flight: 2 }, { actor: 'test', check() {} })
  assert.equal(scheduler.waitingCount(), 0)
  assert.equal((await second).status, 200)
  leave.abort()
  await first.text().catch(() => {}) // its client has left
})

test('background work of Open WebUI goes behind, under the name of its user', async () => {
  await using rig = await startRig({ workers: [{ models: ['m:1b'] }] })
  const key = await keyFor(rig, { tenant: 'default', trust_identity_headers: true })
  const headers = { ...key, 'x-openwebui-user-id': 'anna', 'x-openwebui-task': 'title_generation' }
  const answer = await rig.post('/api/chat', { model: 'm:1b', messages, user: 'ben' }, { headers })
  await answer.text()
  const line = await rig.logged('request.done')
  assert.equal(line['actor'], 'anna')
  const forged = { 'x-openwebui-user-jwt': 'a.b.c' }
  await using strict = await startRig({
    workers: [{ models: ['m:1b'] }],
    config: { auth: { openwebui_jwt_secret: 's' } },
  })
  const warned = await strict.post('/api/chat', { model: 'm:1b', messages }, { headers: forged })
  await warned.text()
  assert.match(warned.headers.get('x-ogw-warning') ?? '', /x-openwebui-user-jwt/)
})
