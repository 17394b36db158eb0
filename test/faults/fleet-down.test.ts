// What clients ask about the fleet while it is down, in part or whole, or long gone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AdminClient } from '../../src/gateway/contract/client.ts'
import { socketTransport } from '../../src/gateway/contract/transport.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const PROBE = { interval: '1s', timeout: '200ms', failures_to_down: 1 }
const stateOf = (rig: Rig, name: string) => rig.gateway.parts.fleet.worker(name)?.health.state

interface Listed {
  models: { name: string }[]
}

// B098: a list is what is known, with a header where something may be missing; never a 500.
test('lists and versions are 200 while every worker is down', async () => {
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b'] }, { models: ['beta:4b'] }],
    workerConfig: { probe: PROBE },
  })
  for (const sim of rig.sims) await sim.faults.add({ kind: 'refuse' })
  await until(() => stateOf(rig, 'node-1') === 'down' && stateOf(rig, 'node-2') === 'down')
  for (const path of ['/api/version', '/api/tags', '/api/ps', '/v1/models', '/']) {
    const answer = await fetch(rig.url + path)
    const text = await answer.text()
    assert.equal(answer.status, 200, `${path} ${text}`)
    if (path === '/api/tags' || path === '/v1/models') {
      assert.match(text, /alpha:8b/)
      assert.match(answer.headers.get('x-ogw-warning') ?? '', /node-1.*node-2/)
    }
  }
  const show = await rig.post('/api/show', { model: 'alpha:8b' })
  assert.equal(show.status, 503)
  assert.match(await show.text(), /^\{"error":"/)
})

// B098: and from the first moment, when no worker was ever there.
test('lists of a fleet that was never there are empty, and 200', async () => {
  await using rig = await startRig({ workers: [{ url: 'http://127.0.0.1:9' }] })
  assert.deepEqual(await (await fetch(`${rig.url}/api/tags`)).json(), { models: [] })
  assert.match(await (await fetch(`${rig.url}/api/version`)).text(), /^\{"version":"\d/)
  assert.deepEqual(
    ((await (await fetch(`${rig.url}/v1/models`)).json()) as { data: unknown }).data ?? [],
    [],
  )
})

// B098: both names of the field, whatever the client's age; unknown is Ollama's own 404.
test('show takes model and name, verbose or not', async () => {
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b'] }, { models: ['beta:4b'] }],
    workerConfig: { probe: PROBE },
  })
  await rig.sims[0]?.faults.add({ kind: 'refuse' })
  await until(() => stateOf(rig, 'node-1') === 'down')
  for (const body of [
    { name: 'beta:4b' },
    { model: 'beta:4b' },
    { model: '', name: 'beta:4b' },
    { model: 'beta:4b', verbose: true },
  ]) {
    const answer = await rig.post('/api/show', body)
    assert.equal(answer.status, 200, JSON.stringify(body))
    assert.ok(((await answer.json()) as { capabilities: unknown }).capabilities)
  }
  const unknown = await rig.post('/api/show', { model: 'nobody:1b' })
  assert.equal(unknown.status, 404)
  assert.deepEqual(await unknown.json(), { error: "model 'nobody:1b' not found" })
})

// B109: gone from a healthy list means gone, with nothing said about it. A worker that is down
// keeps its models for the clients for ten minutes (merged-models.test.ts moves the clock), for
// the operators as long as it is configured.
test('a model that a healthy worker no longer lists is gone at the next reading', async () => {
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b', 'delta:1b'] }, { models: ['beta:4b'] }],
    workerConfig: { probe: PROBE },
  })
  const listed = async (): Promise<string[]> =>
    ((await (await fetch(`${rig.url}/api/tags`)).json()) as Listed).models.map(({ name }) => name)
  assert.ok((await listed()).includes('delta:1b'))
  rig.sims[0]?.models.remove('delta:1b')
  await until(async () => !(await listed()).includes('delta:1b'))
  const chat = await rig.post('/api/chat', {
    model: 'delta:1b',
    messages: [{ role: 'user', content: 'x' }],
  })
  assert.equal(chat.status, 404)
  await chat.text()
  assert.deepEqual(
    rig.log.filter(({ level }) => level === 'warn'),
    [],
  )

  await rig.sims[1]?.faults.add({ kind: 'refuse' })
  await until(() => stateOf(rig, 'node-2') === 'down')
  const { socket } = rig.gateway.parts.config().admin
  const admin = new AdminClient({ transport: socketTransport([socket ?? '']), actor: 'test' })
  const rows = await admin.call('models.list', {})
  const beta = rows.find(({ model }) => model === 'beta:4b')
  assert.ok(beta?.cells.some(({ worker, down }) => worker === 'node-2' && down))
})

// B109: nothing that a gateway has written down brings back what a worker had in an earlier life.
test('a restart knows no models of a worker that it cannot reach', async () => {
  await using rig = await startRig({ workers: [{ url: 'http://127.0.0.1:9' }] })
  await rig.gateway.ready
  const { socket } = rig.gateway.parts.config().admin
  const admin = new AdminClient({ transport: socketTransport([socket ?? '']), actor: 'test' })
  const [row] = await admin.call('workers.list', {})
  assert.deepEqual([row?.health, row?.installed ?? 0], ['down', 0])
  assert.deepEqual(await admin.call('models.list', {}), [])
})
