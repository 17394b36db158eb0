import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Tail, TAIL_BYTES } from '../../../src/gateway/proxy/tail.ts'

/** Bytes that tell their place. */
function numbered(from: number, length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => (from + index) % 251))
}

const CASES: ReadonlyArray<{ name: string; sizes: number[] }> = [
  { name: 'nothing', sizes: [] },
  { name: 'empty chunks', sizes: [0, 0] },
  { name: 'one short chunk', sizes: [10] },
  { name: 'two', sizes: [10, 2_000] },
  { name: 'many small ones', sizes: Array.from({ length: 3_000 }, () => 135) },
  { name: 'one at the limit', sizes: [TAIL_BYTES] },
  { name: 'one over it', sizes: [TAIL_BYTES + 1] },
  { name: 'a large one after small ones', sizes: [100, 100, 100_000] },
  { name: 'small ones after a large one', sizes: [100_000, 1, 2, 3] },
  { name: 'odd sizes', sizes: Array.from({ length: 400 }, (_, index) => (index * 7_919) % 5_003) },
]

for (const { name, sizes } of CASES) {
  test(`${name}: the tail is the end of what passed`, () => {
    const tail = new Tail()
    let sent = 0
    for (const size of sizes) {
      tail.push(numbered(sent, size))
      sent += size
      const bytes = tail.bytes()
      assert.ok(bytes.length >= Math.min(sent, TAIL_BYTES), `${bytes.length} of ${sent}`)
      assert.ok(bytes.length <= 2 * TAIL_BYTES, `${bytes.length} is bounded`)
      assert.ok(bytes.equals(numbered(sent - bytes.length, bytes.length)))
    }
  })
}

test('a chunk is not kept: who passes it on may use its memory again', () => {
  const tail = new Tail()
  const chunk = Buffer.from('data: [DONE]')
  tail.push(chunk)
  chunk.fill(0)
  assert.equal(tail.bytes().toString(), 'data: [DONE]')
})
