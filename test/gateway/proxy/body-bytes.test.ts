import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BodyBytes } from '../../../src/gateway/proxy/body-bytes.ts'

const MIB = 1024 * 1024

/** Sizes of pieces, and the length that was announced. */
const CASES: readonly { name: string; pieces: readonly number[]; announced: number }[] = [
  { name: 'nothing', pieces: [], announced: Number.NaN },
  { name: 'one small piece', pieces: [10], announced: 10 },
  { name: 'small pieces', pieces: [10, 0, 20], announced: 30 },
  { name: 'exactly the bound', pieces: [MIB / 2, MIB / 2], announced: MIB },
  { name: 'one byte above it', pieces: [MIB / 2, MIB / 2, 1], announced: MIB + 1 },
  { name: 'one large piece', pieces: [3 * MIB], announced: 3 * MIB },
  {
    name: 'large, announced',
    pieces: Array.from({ length: 90 }, () => 65_536),
    announced: 90 * 65_536,
  },
  {
    name: 'large, not announced',
    pieces: Array.from({ length: 90 }, () => 65_536),
    announced: Number.NaN,
  },
  { name: 'more than announced', pieces: [MIB, MIB, MIB], announced: 10 },
  { name: 'less than announced', pieces: [MIB, MIB], announced: 7 * MIB },
]

for (const { name, pieces, announced } of CASES) {
  test(`a body is the sum of its pieces: ${name}`, () => {
    const body = new BodyBytes(announced, 8 * MIB)
    const sent = pieces.map((size, index) => Buffer.alloc(size, index + 1))
    for (const piece of sent) body.push(piece)
    const expected = Buffer.concat(sent)
    assert.equal(body.length, expected.length)
    assert.ok(body.joined().equals(expected))
  })
}

// The end of a body of 100 MiB must not copy it: the loop serves others. And a thread is given the
// memory itself only where the buffer is all of it.
test('a large body of announced length is one piece of memory before its end', () => {
  const body = new BodyBytes(5 * MIB, 100 * MIB)
  const piece = Buffer.alloc(MIB)
  for (let count = 0; count < 5; count += 1) body.push(piece)
  const joined = body.joined()
  assert.equal(joined.buffer, body.joined().buffer)
  assert.deepEqual([joined.byteOffset, joined.buffer.byteLength], [0, 5 * MIB])
})
