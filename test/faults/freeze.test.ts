import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startRig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

const args = [
  '--models',
  'm:1b',
  '--slots',
  '64',
  '--tokens',
  '60',
  '--token-ms',
  '25',
  '--load-ms',
  '1',
  '--prefill-ms',
  '400',
]
const ask = { model: 'm:1b', messages: [{ role: 'user', content: 'hi' }] }

interface Seen {
  status: number
  text: string
  worker: string | null
}

// The promise of the product: a machine that freezes takes nothing with it that had not begun.
test('one of two workers freezes under 50 streams', { timeout: 60_000 }, async () => {
  await using first = await startWorkerProcess({ args })
  await using second = await startWorkerProcess({ args })
  await using rig = await startRig({
    workers: [{ url: first.url }, { url: second.url }],
    workerConfig: { max_concurrent: 64 },
  })
  const request = async (): Promise<Seen> => {
    const answer = await rig.post('/v1/chat/completions', { ...ask, stream: true })
    return {
      status: answer.status,
      text: await answer.text(),
      worker: answer.headers.get('x-ogw-worker'),
    }
  }
  const { active } = rig.gateway.parts
  const begun = Array.from({ length: 25 }, request)
  await until(() => active.list().filter(({ phase }) => phase === 'streaming').length >= 20, {
    timeoutMs: 10_000,
    what: 'most stream',
  })
  const fresh = Array.from({ length: 25 }, request)
  await until(() => active.list().filter(({ phase }) => phase === 'starting').length >= 10, {
    timeoutMs: 10_000,
    what: 'others have been sent and wait for their first byte',
  })
  const frozenAt = performance.now()
  first.freeze()
  const seen = await Promise.all([...begun, ...fresh])
  const tookMs = performance.now() - frozenAt

  const whole = seen.filter(({ text }) => text.endsWith('data: [DONE]\n\n'))
  const broken = seen.filter(({ text }) => !text.endsWith('data: [DONE]\n\n'))
  for (const { status, text, worker } of broken) {
    assert.equal(status, 200)
    assert.equal(worker, 'node-1', 'only those that had begun on the frozen worker')
    assert.match(text, /^data: \{.*data: \{"error":\{.*node-1.*\}\}\n\n$/s)
  }
  assert.ok(broken.length > 0 && whole.length > broken.length)
  assert.ok(whole.filter(({ worker }) => worker === 'node-2').length >= 25)
  console.log(
    `of 50 streams ${whole.length} whole, ${broken.length} told within ${Math.round(tookMs)} ms of the freeze`,
  )
})

// The next request must not wait as long again, nor for the next periodic round.
test('a silence that a probe confirms takes the worker down at once', async () => {
  await using worker = await startWorkerProcess({ args })
  await using rig = await startRig({
    workers: [{ url: worker.url }],
    workerConfig: { probe: { interval: '10m', timeout: '500ms' } },
  })
  assert.equal((await rig.post('/api/chat', { ...ask, stream: false })).status, 200)
  worker.freeze()
  const first = await rig.post('/api/chat', { ...ask, stream: false })
  assert.equal(first.status, 504, await first.text())
  assert.equal(rig.gateway.parts.fleet.worker('node-1')?.health.state, 'down')
  const begun = performance.now()
  const second = await rig.post('/api/chat', { ...ask, stream: false })
  assert.equal(second.status, 503)
  assert.match(await second.text(), /node-1: down since .*silent for/)
  assert.ok(performance.now() - begun < 500, 'at once')
  worker.thaw()
})

// Its bytes flowed a moment ago, so it is not down at once; but it is asked, and operators see why.
test('a silence in mid-stream is held against its address', async () => {
  await using worker = await startWorkerProcess({ args })
  await using rig = await startRig({
    workers: [{ url: worker.url }],
    workerConfig: { probe: { interval: '10m', timeout: '500ms' } },
  })
  const answer = await rig.post('/api/chat', ask)
  worker.freeze()
  assert.match(await answer.text(), /\n\{"error":"[^\n]*node-1[^\n]*"\}\n$/)
  assert.notEqual(rig.gateway.parts.fleet.worker('node-1')?.addresses[0]?.lastError, undefined)
  worker.thaw()
})

test(
  'with all frozen, 503 names each worker; back again, they serve within an interval',
  { timeout: 60_000 },
  async () => {
    await using first = await startWorkerProcess({ args })
    await using second = await startWorkerProcess({ args })
    await using rig = await startRig({ workers: [{ url: first.url }, { url: second.url }] })
    first.freeze()
    second.freeze()
    const { fleet } = rig.gateway.parts
    await until(() => fleet.workers().every(({ health }) => health.state === 'down'), {
      timeoutMs: 15_000,
      what: 'both are down',
    })
    const begun = performance.now()
    const answers = await Promise.all(
      ['/api/chat', '/v1/chat/completions'].map((path) => rig.post(path, ask)),
    )
    assert.ok(performance.now() - begun < 500, 'at once')
    for (const answer of answers) {
      assert.equal(answer.status, 503)
      assert.match(await answer.text(), /node-1.*node-2/s)
    }
    first.thaw()
    await until(() => fleet.worker('node-1')?.health.state === 'up', {
      timeoutMs: 5_000,
      what: 'node-1 is back',
    })
    assert.equal((await rig.post('/api/chat', { ...ask, stream: false })).status, 200)
  },
)
