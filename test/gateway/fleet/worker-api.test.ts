import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryObjects } from 'node:v8'
import { Client } from 'undici'
import { startSimulatedWorker } from '../../../src/cli/simulator/worker.ts'
import { systemClock } from '../../../src/gateway/clock.ts'
import { callWorker } from '../../../src/gateway/fleet/worker-api.ts'
import { aWorker } from '../../support/worker-records.ts'

// Every worker is asked several times a minute for as long as the gateway runs.
test('a call that is over leaves nothing in memory, whatever signals could have ended it', async () => {
  await using sim = await startSimulatedWorker({ models: ['m:1b'] })
  const target = { url: sim.url, ips: undefined, config: aWorker({ name: 'node-1' }).config }
  const [stopped, removed] = [new AbortController(), new AbortController()]
  const ask = async (): Promise<void> => {
    const signal = AbortSignal.any([stopped.signal, removed.signal])
    const call = { method: 'GET', path: '/api/ps', timeoutMs: 5_000, maxBytes: 1e6 } as const
    const answer = await callWorker(systemClock, target, { ...call, signal })
    assert.ok(answer.ok)
  }
  await ask()
  const before = queryObjects(Client, { format: 'count' })
  for (let round = 0; round < 50; round += 1) await ask()
  const after = queryObjects(Client, { format: 'count' })
  assert.ok(after <= before + 5, `${after - before} of 50 connections are still in memory`)
})
