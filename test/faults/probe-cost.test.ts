// What an idle fleet and its onlookers cost the workers: cheap GETs, never a prompt.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../support/rig.ts'
import { until } from '../support/until.ts'

const named = (count: number): string[] => Array.from({ length: count }, (_, at) => `m${at}:1b`)

// B003: probes that run inference evict working models, and probes per model grow with a library.
// Twenty models cost what one costs, on the whole gateway with everything on.
test('an idle worker is asked cheap things only, as often with 20 models as with one', async () => {
  await using rig = await startRig({
    workers: [{ models: named(20) }, { models: named(1) }],
    config: { inventory: { tags_interval: '1s', ps_interval: '1s' } },
  })
  const [many, one] = rig.sims
  assert.ok(many && one)
  await until(() => (one.record.counts()['GET /api/version'] ?? 0) >= 4)
  const counts = [many, one].map((sim) => sim.record.counts())
  for (const seen of counts) {
    const cheap = ['GET /api/ps', 'GET /api/tags', 'GET /api/version']
    assert.deepEqual(Object.keys(seen).toSorted(), cheap)
  }
  for (const path of Object.keys(counts[0] ?? {})) {
    const apart = Math.abs((counts[0]?.[path] ?? 0) - (counts[1]?.[path] ?? 0))
    assert.ok(apart <= 1, `${path}: ${JSON.stringify(counts)}`)
  }
})

// B122: ten model pickers, each with tags and a show per model, at once. Each worker hears at most
// one show per model and digest, no slot is taken, and no probe is late.
test('a storm of shows is one show per model, and delays neither chats nor probes', async () => {
  const models = named(150)
  await using rig = await startRig({
    workers: [{ models }, { models: [...models, 'chat:1b'] }],
    workerConfig: { max_concurrent: 1 },
  })
  const list = async (): Promise<void> => {
    const tags = await fetch(`${rig.url}/api/tags`)
    const { models: rows } = (await tags.json()) as { models: { name: string }[] }
    assert.equal(rows.length, 151)
    for (const { name } of rows) {
      const shown = await rig.post('/api/show', { model: name })
      assert.equal(shown.status, 200)
      await shown.arrayBuffer()
    }
  }
  const storm = Promise.all(Array.from({ length: 10 }, list))
  const chat = await rig.post('/api/chat', {
    model: 'chat:1b',
    messages: [{ role: 'user', content: 'x' }],
  })
  assert.equal(chat.status, 200, await chat.text())
  await storm
  await list()
  for (const sim of rig.sims) {
    const shows = sim.record.requests({ path: '/api/show' })
    const asked = shows.map(({ model }) => model)
    assert.equal(new Set(asked).size, asked.length, 'none was asked twice')
  }
  assert.ok(rig.gateway.parts.fleet.workers().every(({ health }) => health.state === 'up'))
  const started = performance.now()
  for (let round = 0; round < 20; round += 1) {
    await (await rig.post('/api/show', { model: models[round] })).arrayBuffer()
  }
  assert.ok((performance.now() - started) / 20 < 50, 'warm answers come from memory')
})
