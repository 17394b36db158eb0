// A network that is slow or loses packets is not a host that is gone: every request is served by
// the worker it went to, and nobody is marked down or blamed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import { startDelayRelay } from '../support/delay-relay.ts'
import { DIALECT_CASES } from '../support/dialect-cases.ts'
import { needsTool } from '../support/needs.ts'
import { makeTestHost } from '../support/netns.ts'
import { startRig } from '../support/rig.ts'
import type { Rig } from '../support/rig.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

const config = { upstream: { connect_timeout: '5s', first_byte_grace: '1s' } }
const workerConfig = { probe: { interval: '1s', timeout: '4s' } }

async function assertServed(rig: Rig, model: string): Promise<void> {
  const asked = DIALECT_CASES.flatMap((dialect) => [
    { dialect, stream: true },
    { dialect, stream: false },
  ])
  await Promise.all(
    asked.map(async ({ dialect, stream }) => {
      const answer = await rig.post(dialect.path, { ...dialect.body(model), stream })
      const text = await answer.text()
      assert.equal(answer.status, 200, text)
      assert.equal(answer.headers.get('x-ogw-attempts'), '1')
      assert.match(text, stream ? dialect.whole : /^\{.*\}\s*$/s, dialect.name)
    }),
  )
  const worker = rig.gateway.parts.fleet.worker('node-1')
  assert.equal(worker?.health.state, 'up')
  assert.equal(worker.breaker.phase, 'closed')
  assert.equal(
    rig.log.find(({ event }) => event === 'worker.down'),
    undefined,
  )
}

test('a worker behind a slow line', { timeout: 60_000 }, async () => {
  await using sim = await startSimulatedWorker({ models: ['m:1b'], slots: 20, loadMs: 1 })
  await using relay = await startDelayRelay(sim.url, 200)
  await using rig = await startRig({ workers: [{ url: relay.url }], workerConfig, config })
  await assertServed(rig, 'm:1b')
})

test('a worker behind a line that loses a tenth', { timeout: 60_000 }, async (t) => {
  const tools = needsTool(t, 'unshare', ['-n', 'true']) && needsTool(t, 'nft')
  if (!tools || !needsTool(t, 'ip')) return
  await using host = makeTestHost(40)
  const args = ['--host', '0.0.0.0', '--models', 'm:1b', '--slots', '20', '--tokens', '20']
  await using worker = await startWorkerProcess({ args, within: host.within })
  const url = `http://${host.address}:${new URL(worker.url).port}`
  await using rig = await startRig({ workers: [{ url }], workerConfig, config })
  host.drop('numgen random mod 10 < 1')
  await assertServed(rig, 'm:1b')
  host.heal()
})
