// The simulated worker is held against every recorded exchange with a real Ollama
// 0.33.0: status, headers and their order, framing, what is in one transfer chunk,
// names and order of fields, wording of errors. A gateway that passes against it
// would otherwise only be known to agree with our own idea of Ollama.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSimulatedWorker } from '../../../src/cli/simulator/worker.ts'
import { cutLike } from '../../support/exchange-shape.ts'
import {
  EXCHANGE_FILES,
  play,
  readExchanges,
  readModels,
  RECORDED,
} from '../../support/exchanges.ts'

const models = readModels()
const LIMITS: Readonly<Record<string, { maxQueue: number; loadMs: number }>> = {
  'sched-queue-full': { maxQueue: 2, loadMs: 300 },
}

for (const file of EXCHANGE_FILES) {
  test(`recorded ${file} exchanges`, async (t) => {
    for (const exchange of readExchanges(file)) {
      await t.test(exchange.name, async () => {
        await using worker = await startSimulatedWorker({
          ...RECORDED,
          models,
          ...LIMITS[exchange.name],
        })
        const answer = await play(worker, exchange)
        assert.deepEqual(cutLike(answer, exchange.answer), exchange.answer)
      })
    }
  })
}

test('all recorded exchanges are there', () => {
  const count = EXCHANGE_FILES.reduce((sum, file) => sum + readExchanges(file).length, 0)
  assert.equal(count, 222)
})
