import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wasTruncated } from '../../../src/gateway/policy/truncation.ts'

const cases: [
  what: string,
  chars: number,
  tokens: number | undefined,
  version: string | undefined,
  cut: boolean,
][] = [
  ['about half a context is left of it', 75_000, 1024, '0.30.0', true],
  ['a newer worker', 75_000, 1024, '0.31.2-rc1', true],
  ['English', 75_000, 18_750, '0.30.0', false],
  ['long runs of blanks', 75_000, 9_400, '0.30.0', false],
  ['just beyond any tokenizer', 8_001, 1_000, '0.30.0', true],
  ['at the edge', 8_000, 1_000, '0.30.0', false],
  ['a short prompt', 1_999, 1, '0.30.0', false],
  ['no count', 75_000, undefined, '0.30.0', false],
  ['a count of nothing', 75_000, 0, '0.30.0', false],
  // Its counts leave out what was in its cache: a second turn has a few tokens only.
  ['a worker that does not count what it has cached', 75_000, 12, '0.29.9', false],
  ['a worker of an unknown version', 75_000, 1024, undefined, false],
  ['a version that is no number', 75_000, 1024, 'main-3f2a', false],
]

for (const [what, promptChars, promptTokens, workerVersion, cut] of cases) {
  test(`a prompt that was cut: ${what}`, () => {
    assert.equal(wasTruncated({ promptChars, promptTokens, workerVersion }), cut)
  })
}
