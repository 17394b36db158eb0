import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countUse } from '../../../src/gateway/proxy/count-use.ts'

type Counting = Parameters<typeof countUse>

/** Of a request whose prompt is estimated, and of which five chunks have passed. */
function counted(began: boolean): { used: number[]; args: [Counting[0], Counting[1]] } {
  const used: number[] = []
  const lease = { used: (tokens: number) => void used.push(tokens) }
  const active = { firstByteAt: began ? 1 : undefined, chunks: () => 5 }
  const facts = { kind: 'inference', promptChars: 400, images: 0 }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that counting looks at
  const args = [lease, { active, request: { facts } }] as unknown as [Counting[0], Counting[1]]
  return { used, args }
}

const GONE = new Error('gone')

// A tenant whose clients leave in mid-stream would have used the fleet for nothing.
test('a client that leaves has used its prompt and what came until then', async () => {
  const { used, args } = counted(true)
  await assert.rejects(countUse(...args, Promise.reject(GONE)), GONE)
  const [tokens = 0] = used
  assert.ok(tokens > 50 && tokens < 400, String(tokens))
})

test('who leaves before the first byte, or fails before it, has used nothing', async () => {
  const early = counted(false)
  await assert.rejects(countUse(...early.args, Promise.reject(GONE)), GONE)
  const failed = counted(false)
  assert.equal(await countUse(...failed.args, Promise.resolve(undefined)), undefined)
  assert.deepEqual([early.used, failed.used], [[0], [0]])
})
