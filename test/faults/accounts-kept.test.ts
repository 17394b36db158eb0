// What tenants have used is on disk whichever way the process ends: all of it after an order to
// stop, all but the last second after a kill.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import { startServing } from '../support/serve-process.ts'
import type { Serving } from '../support/serve-process.ts'

const TENANTS = [{ name: 'default', credits: 1_000_000, credit_window: '24h' }]

interface Counts {
  prompt_eval_count: number
  eval_count: number
}

/** Sends so many requests, one after the other, and sums up what their answers say they used. */
async function use(gateway: Serving, count: number): Promise<number> {
  let tokens = 0
  for (let sent = 0; sent < count; sent += 1) {
    const answer = await fetch(`${gateway.url}/api/generate`, {
      method: 'POST',
      body: JSON.stringify({ model: 'alpha:8b', prompt: 'hi', stream: false }),
    })
    const used = (await answer.json()) as Counts
    tokens += used.prompt_eval_count + used.eval_count
  }
  return tokens
}

const read = (gateway: Serving, file: string): Promise<string> =>
  readFile(path.join(gateway.folder, 'state', file), 'utf8')

async function charged(gateway: Serving): Promise<number> {
  const { accounts } = JSON.parse(await read(gateway, 'credits.json')) as {
    accounts: { tenant: string; account: string | null; used: number }[]
  }
  return accounts.find(({ tenant, account }) => tenant === 'default' && account === null)?.used ?? 0
}

async function booked(gateway: Serving): Promise<number> {
  const lines = (await read(gateway, 'usage.jsonl')).split('\n').filter((line) => line !== '')
  return lines
    .map((line) => JSON.parse(line) as { prompt_tokens: number; output_tokens: number })
    .reduce((sum, line) => sum + line.prompt_tokens + line.output_tokens, 0)
}

test('an order to stop loses no token', async () => {
  await using sim = await startSimulatedWorker({ models: ['alpha:8b'], tokens: 5 })
  await using gateway = await startServing(sim.url, { tenants: TENANTS })
  const used = await use(gateway, 3)
  gateway.kill('SIGTERM')
  assert.equal(await gateway.ended, 0)
  assert.equal(await charged(gateway), used)
  assert.equal(await booked(gateway), used)
})

test('a kill loses at most the last second, and charges nothing twice', async () => {
  await using sim = await startSimulatedWorker({ models: ['alpha:8b'], tokens: 5 })
  await using gateway = await startServing(sim.url, { tenants: TENANTS })
  const old = await use(gateway, 3)
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  const fresh = await use(gateway, 3)
  gateway.kill('SIGKILL')
  await gateway.ended
  for (const kept of [await charged(gateway), await booked(gateway)]) {
    assert.ok(kept >= old && kept <= old + fresh, `${kept} of ${old} and ${fresh}`)
  }
})
