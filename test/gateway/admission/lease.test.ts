import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaseOf } from '../../../src/gateway/admission/lease.ts'
import type { Lease } from '../../../src/gateway/admission/ask.ts'
import { schedulerRig } from '../../support/fake-fleet.ts'

const ROOM = { name: 'w1', installed: ['m:1'], loaded: ['m:1'] }

async function leased(): Promise<{ lease: Lease; told: (string | number)[] }> {
  const { scheduler, ask } = schedulerRig([ROOM])
  const granted = await scheduler.request(ask('m:1'), new AbortController().signal)
  const told: (string | number)[] = []
  const lease = leaseOf({
    ...granted,
    onBegun: () => void told.push('begun'),
    onUsed: (tokens) => void told.push(tokens),
    onEnd: () => void told.push('end'),
  })
  return { lease, told }
}

// A share is corrected by the difference to the estimate: twice would be a gift.
test('a lease tells once what was used, and nothing after its end', async () => {
  const { lease, told } = await leased()
  lease.used(7)
  lease.used(9)
  lease[Symbol.dispose]()
  lease.used(11)
  lease[Symbol.dispose]()
  assert.deepEqual(told, [7, 'end'])
})

// An empty load, or an attempt that never went out: its estimate would weigh on the tenant for ever.
test('a lease that ends without a word has used nothing', async () => {
  const { lease, told } = await leased()
  lease.begun()
  lease[Symbol.dispose]()
  lease.begun()
  assert.deepEqual(told, ['begun', 0, 'end'])
})
