// The environment of a service may name a proxy for the house. Workers are not behind it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../src/cli/simulator/worker.ts'
import { startRawWorker } from '../support/raw-worker.ts'
import { startServing } from '../support/serve-process.ts'
import { ask, chatBody } from '../support/sim-client.ts'

// B135: every kind of call to a worker is direct, whatever variables are set and even where Node
// itself is told to use them; the start says which of them is ignored.
test('HTTP_PROXY diverts nothing, and is warned of', async () => {
  await using proxy = await startRawWorker([{ do: 'reset' }])
  await using sim = await startSimulatedWorker({ models: ['alpha:8b'] })
  await using gateway = await startServing(
    sim.url,
    {},
    {
      HTTP_PROXY: proxy.url,
      http_proxy: proxy.url,
      HTTPS_PROXY: proxy.url,
      ALL_PROXY: proxy.url,
      NO_PROXY: '',
      no_proxy: '',
      NODE_USE_ENV_PROXY: '1',
    },
  )
  const chat = await ask(gateway.url, '/api/chat', chatBody('alpha:8b')).answer
  assert.equal(chat.status, 200, chat.text)
  assert.equal((await ask(gateway.url, '/api/show', { model: 'alpha:8b' }).answer).status, 200)
  const unload = { model: 'alpha:8b', keep_alive: 0 }
  assert.equal((await ask(gateway.url, '/api/generate', unload).answer).status, 200)
  assert.equal(proxy.connections, 0)
  const warned = gateway.log.filter(({ event }) => event === 'proxy.ignored')
  assert.deepEqual(
    warned.map(({ variable }) => variable),
    ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'],
  )
  for (const line of warned) assert.equal(line['level'], 'warn')
})
