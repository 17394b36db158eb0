// A model that is not where the inventory says, and answers that only look like it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECT_REQUESTS, STREAM_REQUESTS } from '../support/dialect-requests.ts'
import { startRig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const messages = [{ role: 'user', content: 'hi' }]

// B011: deleted behind the gateway's back on one of two twins. The 404 of the worker is no answer
// for the client as long as another has the model, and the list is read again at the first one.
for (const each of STREAM_REQUESTS) {
  test(`a model that one worker lost is served by its twin: ${each.path}`, async () => {
    await using rig = await startRig({
      workers: [{ models: ['alpha:8b'] }, { models: ['alpha:8b'] }],
      config: { inventory: { tags_interval: '1h', ps_interval: '1h' } },
    })
    const [lost, twin] = rig.sims
    assert.ok(lost && twin)
    lost.models.remove('alpha:8b')
    const tagsBefore = lost.record.counts()['GET /api/tags'] ?? 0
    for (let round = 0; round < 10; round += 1) {
      const answer = await rig.post(each.path, {
        model: 'alpha:8b',
        ...each.body,
        stream: round % 2 === 0,
      })
      assert.equal(answer.status, 200, await answer.text())
      assert.equal(answer.headers.get('x-ogw-worker'), 'node-2')
      await answer.text().catch(() => '')
    }
    assert.ok((lost.record.counts()[`POST ${each.path}`] ?? 0) <= 1, 'asked once, then no more')
    await until(() => (lost.record.counts()['GET /api/tags'] ?? 0) > tagsBefore, {
      what: 'the list to be read again',
    })
    assert.equal(rig.gateway.parts.fleet.worker('node-1')?.health.state, 'up')
  })
}

// B011: nobody has it any more. 404 names the model and the workers asked, in each dialect.
test('a model that every worker lost is a 404 that names it and them', async () => {
  for (const each of STREAM_REQUESTS) {
    await using rig = await startRig({
      workers: [{ models: ['alpha:8b'] }, { models: ['alpha:8b'] }],
      config: { inventory: { tags_interval: '1h', ps_interval: '1h' } },
    })
    for (const sim of rig.sims) sim.models.remove('alpha:8b')
    const answer = await rig.post(each.path, { model: 'alpha:8b', ...each.body, stream: true })
    const text = await answer.text()
    assert.equal(answer.status, 404, text)
    assert.match(
      each.messageOf(JSON.parse(text)),
      /alpha:8b.*node-1.*node-2|alpha:8b.*node-2.*node-1/,
    )
  }
})

/** Answers with 404 that say nothing about a model. */
const OTHER_404S = [
  { body: '404 page not found', contentType: 'text/plain' },
  { body: '<html>404</html>', contentType: 'text/html' },
  { body: '{"error":"the endpoint was not found"}', contentType: 'application/json' },
  { body: '{"detail":"Not Found"}', contentType: 'application/json' },
]

// B009: a route that an old worker lacks, or a proxy before it, says nothing of the model. The
// answer goes to the client as it came; model, worker and lists stay as they are.
for (const { body, contentType } of OTHER_404S) {
  test(`404 ${body} takes no model away`, async () => {
    await using rig = await startRig({ workers: [{ models: ['alpha:8b', 'embed-x'] }] })
    const [sim] = rig.sims
    const list = await (await fetch(`${rig.url}/v1/models`)).text()
    const heal = await sim?.faults.add({
      kind: 'status',
      status: 404,
      body,
      contentType,
      path: '/v1/*',
    })
    const refused = await rig.post('/v1/messages', { model: 'alpha:8b', messages, max_tokens: 5 })
    assert.equal(refused.status, 404)
    assert.equal(await refused.text(), body, "the worker's own words")
    await heal?.()
    for (const each of DIALECT_REQUESTS) {
      const model = each.path.includes('embed') ? 'embed-x' : 'alpha:8b'
      const answer = await rig.post(each.path, { model, ...each.body })
      assert.equal(answer.status, 200, `${each.path} ${await answer.text()}`)
      await answer.text().catch(() => '')
    }
    assert.equal(await (await fetch(`${rig.url}/v1/models`)).text(), list)
  })
}

// B009: the helper route itself is answered here, query and all, and asks no worker.
test('count_tokens costs no worker anything, whatever its query', async () => {
  await using rig = await startRig({ workers: [{ models: ['alpha:8b'] }] })
  await rig.sims[0]?.faults.add({
    kind: 'status',
    status: 404,
    body: '404 page not found',
    path: '/v1/messages/count_tokens',
  })
  const counted = await rig.post('/v1/messages/count_tokens?beta=true', {
    model: 'alpha:8b',
    messages,
  })
  assert.equal(counted.status, 200)
  assert.ok(((await counted.json()) as { input_tokens: number }).input_tokens > 0)
  assert.equal(rig.sims[0]?.record.counts()['POST /v1/messages/count_tokens'], undefined)
  const answer = await rig.post('/v1/messages?beta=true', {
    model: 'alpha:8b',
    messages,
    max_tokens: 5,
  })
  assert.equal(answer.status, 200, await answer.text())
})
