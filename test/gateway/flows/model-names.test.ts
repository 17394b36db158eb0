// One model, many spellings: a rule, a limit or a series that holds for one holds for all.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../../support/rig.ts'
import type { Rig } from '../../support/rig.ts'
import { ask, chatBody } from '../../support/sim-client.ts'
import { until } from '../../support/until.ts'

const SPELLINGS = [
  'gamma',
  'gamma:latest',
  'GAMMA',
  'Gamma:Latest',
  'library/gamma',
  'registry.ollama.ai/library/gamma:latest',
]

// B104: untagged is `:latest` for routing, and the worker is sent what the client wrote. In the
// metrics it is one series.
test('every spelling of a model finds it, and is sent on as it was written', async () => {
  await using rig = await startRig({
    workers: [{ models: ['gamma:latest'] }, { models: ['beta:4b'] }],
  })
  for (const path of ['/api/chat', '/v1/chat/completions']) {
    for (const model of SPELLINGS) {
      const answer = await rig.post(path, chatBody(model, { stream: false }))
      assert.equal(answer.status, 200, `${path} ${model}: ${await answer.text()}`)
      assert.equal(answer.headers.get('x-ogw-worker'), 'node-1')
      await answer.text().catch(() => '')
      assert.equal(
        rig.sims[0]?.record.requests({ path }).at(-1)?.body.toString(),
        JSON.stringify(chatBody(model, { stream: false })),
      )
    }
  }
  await rig.quiet()
  const metrics = await (await fetch(`${rig.opsUrl}/metrics`)).text()
  const models = new Set(
    [...metrics.matchAll(/model="([^"]*gamma[^"]*)"/gi)].map(([, model]) => model),
  )
  assert.equal(models.size, 1, [...models].join(' '))
})

// B104: no spelling of the request dodges a rule, no spelling of the rule misses the model.
for (const rule of ['gamma', 'gamma:latest', 'Gamma', 'gamma:*']) {
  test(`a rule written ${rule} holds for every spelling`, async () => {
    await using rig = await startRig({
      workers: [{ models: ['gamma:latest'] }, { models: ['gamma:latest'] }],
      perWorker: { 'node-2': { model_placement: { denied_models: [rule] } } },
    })
    for (const model of SPELLINGS) {
      const answer = await rig.post('/api/chat', chatBody(model))
      assert.equal(answer.headers.get('x-ogw-worker'), 'node-1', `${model}: ${await answer.text()}`)
      await answer.text().catch(() => '')
    }
    assert.equal(rig.sims[1]?.record.counts()['POST /api/chat'], undefined)
  })
}

test('a whitelist that names the untagged model lets every spelling in, and nothing else', async () => {
  await using rig = await startRig({
    workers: [{ models: ['gamma:latest', 'gamma:2b'] }],
    workerConfig: { model_placement: { mode: 'whitelist', allowed_models: ['gamma'] } },
  })
  for (const model of SPELLINGS) {
    const answer = await rig.post('/api/chat', chatBody(model))
    assert.equal(answer.status, 200, await answer.text())
    await answer.text().catch(() => '')
  }
  const other = await rig.post('/api/chat', chatBody('gamma:2b'))
  assert.equal(other.status, 403, await other.text())
})

// B104: a limit for `gamma` counts `gamma:latest` too; on the worker the two never run together.
test('one limit for all spellings', async () => {
  await using rig = await startRig({
    workers: [{ models: ['gamma:latest'], slots: 8, tokens: 3, tokenMs: 10 }],
    workerConfig: { max_concurrent: 8, model_concurrency: { gamma: 1 } },
  })
  await Promise.all(SPELLINGS.map((model) => ask(rig.url, '/api/chat', chatBody(model)).answer))
  assert.equal(rig.sims[0]?.record.concurrency().high, 1)
})

/** All rows of a list, and its bytes. */
async function list(rig: Rig, path: string): Promise<{ ids: string[]; text: string }> {
  const text = await (await fetch(rig.url + path)).text()
  const { models, data } = JSON.parse(text) as {
    models?: { name: string }[]
    data?: { id: string }[]
  }
  return { ids: models?.map(({ name }) => name) ?? data?.map(({ id }) => id) ?? [], text }
}

// B106: three workers with overlapping lists, one of which says `gamma` where another says
// `gamma:latest`, and which come and go: each model once, in one order, byte for byte the same.
test('each model is listed once, and a list that did not change is the same bytes', async () => {
  await using rig = await startRig({
    workers: [
      { models: ['alpha:8b', 'gamma:latest', 'beta:4b'] },
      { models: ['beta:4b', 'gamma', 'alpha:8b', 'delta:1b'] },
      { models: ['Alpha:8B', 'delta:1b'] },
    ],
    workerConfig: { probe: { interval: '1s', timeout: '200ms', failures_to_down: 1 } },
  })
  for (const path of ['/api/tags', '/v1/models']) {
    const first = await list(rig, path)
    const keys = first.ids.map((id) => id.toLowerCase().replace(/:latest$/, ''))
    assert.deepEqual(keys.toSorted(), ['alpha:8b', 'beta:4b', 'delta:1b', 'gamma'])
    for (let round = 0; round < 20; round += 1)
      assert.equal((await list(rig, path)).text, first.text)
  }
  const before = await list(rig, '/api/tags')
  for (let flap = 0; flap < 2; flap += 1) {
    await rig.sims[1]?.faults.add({ kind: 'refuse' })
    await until(() => rig.gateway.parts.fleet.worker('node-2')?.health.state === 'down')
    assert.equal((await list(rig, '/api/tags')).text, before.text, 'while one is down')
    await rig.sims[1]?.faults.clear()
    await until(() => rig.gateway.parts.fleet.worker('node-2')?.health.state === 'up')
    assert.equal((await list(rig, '/api/tags')).text, before.text, 'when it is back')
  }
})
