// Placement is a hard rule: no score, no load, no outage and no name leads around it.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { AdminClient } from '../../../src/gateway/contract/client.ts'
import { socketTransport } from '../../../src/gateway/contract/transport.ts'
import { DIALECT_REQUESTS } from '../../support/dialect-requests.ts'
import { startRig } from '../../support/rig.ts'
import { ask, chatBody } from '../../support/sim-client.ts'
import { until } from '../../support/until.ts'

// B112: the only worker that has the model may not run it by an exact rule, though a prefix allows
// it; the other may run nothing. The answer says both, the clients' list hides it, the operators'
// shows it.
test('a model that is blocked where it is installed is refused, and the reasons are told', async () => {
  await using rig = await startRig({
    workers: [{ models: ['alpha:8b', 'beta:4b'] }, { models: ['beta:4b'] }],
    perWorker: {
      'node-1': { model_placement: { denied_models: ['alpha:8b'], allowed_models: ['alpha:*'] } },
      'node-2': { model_placement: { mode: 'whitelist', allowed_models: [] } },
    },
  })
  for (const each of DIALECT_REQUESTS) {
    const answer = await rig.post(each.path, { model: 'alpha:8b', ...each.body })
    const text = await answer.text()
    assert.equal(answer.status, 403, `${each.path} ${text}`)
    const message = each.messageOf(JSON.parse(text))
    assert.match(message, /alpha:8b/)
    assert.match(message, /node-1: .*alpha:8b/)
    assert.match(message, /node-2: .*whitelist/)
  }
  const listed = await (await fetch(`${rig.url}/api/tags`)).text()
  assert.doesNotMatch(listed, /alpha:8b/)
  assert.match(listed, /beta:4b/)
  const { socket } = rig.gateway.parts.config().admin
  const admin = new AdminClient({ transport: socketTransport([socket ?? '']), actor: 'test' })
  const rows = await admin.call('models.list', {})
  const alpha = rows.find(({ model }) => model === 'alpha:8b')
  assert.deepEqual(
    [alpha?.listed, alpha?.cells[0]?.state, alpha?.cells[1]?.state],
    [false, 'blocked', 'blocked'],
  )
  for (const sim of rig.sims) {
    assert.ok(
      Object.keys(sim.record.counts()).every((what) => what.startsWith('GET ')),
      'nothing was sent',
    )
  }
})

// B112: what would tempt a scheduler: the allowed worker is busy, failing or gone, and the blocked
// one is idle with the model loaded.
suite('nothing tempts a request to a blocked worker', { concurrency: true }, () => {
  const blocked = { 'node-2': { model_placement: { denied_models: ['alpha:*'] } } }

  test('the allowed one is busy', async () => {
    await using rig = await startRig({
      workers: [{ models: ['alpha:8b'], tokens: 10, tokenMs: 20 }, { models: ['alpha:8b'] }],
      workerConfig: { max_concurrent: 1 },
      perWorker: blocked,
    })
    await ask(rig.sims[1]?.url ?? '', '/api/chat', chatBody('alpha:8b')).answer // loaded there
    rig.sims[1]?.record.reset()
    const all = await Promise.all(
      Array.from({ length: 6 }, () => ask(rig.url, '/api/chat', chatBody('alpha:8b')).answer),
    )
    assert.ok(
      all.every(({ status, headers }) => status === 200 && headers['x-ogw-worker'] === 'node-1'),
    )
    assert.equal(rig.sims[1]?.record.counts()['POST /api/chat'], undefined)
  })

  for (const fault of [
    { kind: 'reset', on: 'request', path: '/api/chat' },
    { kind: 'status', status: 503, body: 'gone', contentType: 'text/html', path: '/api/chat' },
    {
      kind: 'status',
      status: 500,
      body: '{"error":"llama runner process has terminated"}',
      path: '/api/chat',
    },
  ] as const) {
    test(`the allowed one fails: ${fault.kind}`, async () => {
      await using rig = await startRig({
        workers: [{ models: ['alpha:8b'] }, { models: ['alpha:8b'] }],
        perWorker: blocked,
      })
      await rig.sims[0]?.faults.add(fault)
      for (let round = 0; round < 4; round += 1) {
        const answer = await rig.post('/api/chat', chatBody('alpha:8b'))
        assert.ok(answer.status >= 500, await answer.text())
      }
      assert.equal(rig.sims[1]?.record.counts()['POST /api/chat'], undefined)
    })
  }

  test('the allowed one is down', async () => {
    await using rig = await startRig({
      workers: [{ models: ['alpha:8b'] }, { models: ['alpha:8b'] }],
      workerConfig: { probe: { interval: '1s', timeout: '200ms', failures_to_down: 1 } },
      perWorker: blocked,
    })
    await rig.sims[0]?.faults.add({ kind: 'refuse' })
    await until(() => rig.gateway.parts.fleet.worker('node-1')?.health.state === 'down')
    const answer = await rig.post('/api/chat', chatBody('alpha:8b'))
    assert.equal(answer.status, 503, await answer.text())
    assert.equal(rig.sims[1]?.record.counts()['POST /api/chat'], undefined)
  })
})
