import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  learn,
  noRates,
  restoredRates,
  type Rates,
  type RateSample,
} from '../../../src/gateway/policy/throughput.ts'

const sample = (outputTokens: unknown, outputMs: unknown): RateSample => ({
  promptTokens: undefined,
  promptMs: undefined,
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nonsense is what is tested
  outputTokens: outputTokens as number,
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nonsense is what is tested
  outputMs: outputMs as number,
})

test('the first samples are averaged, later ones weigh a fifth', () => {
  const rates = [10, 20, 30].reduce((known, perS) => learn(known, sample(perS, 1000), 5), noRates)
  assert.equal(Math.round(rates.outputPerS ?? 0), 20)
  assert.equal(rates.outputSamples, 3)
  const old = { ...rates, outputPerS: 20, outputSamples: 50 }
  assert.equal(learn(old, sample(120, 1000), 6).outputPerS, 40)
  assert.equal(rates.promptPerS, undefined, 'what was not told stays unknown')
  assert.equal(rates.promptSamples, 0)
})

const nonsense: [string, unknown, unknown][] = [
  ['no tokens', 0, 1000],
  ['no time', 10, 0],
  ['negative time', 10, -5],
  ['negative tokens', -10, 1000],
  ['NaN tokens', Number.NaN, 1000],
  ['NaN time', 10, Number.NaN],
  ['endless time', 10, Number.POSITIVE_INFINITY],
  ['endless tokens', Number.POSITIVE_INFINITY, 1000],
  ['unknown tokens', undefined, 1000],
  ['unknown time', 10, undefined],
  ['faster than light', 1e9, 1],
]
for (const [name, tokens, ms] of nonsense) {
  test(`teaches nothing: ${name}`, () => {
    const known = learn(noRates, sample(10, 1000), 1)
    assert.equal(learn(known, sample(tokens, ms), 2), known)
  })
}

test('stored rates come back without nonsense and without a future', () => {
  const stored: Rates = {
    promptPerS: 100,
    promptSamples: 3,
    outputPerS: 12.5,
    outputSamples: 7,
    updatedAt: 50,
  }
  assert.deepEqual(restoredRates(stored, 60), stored)
  assert.equal(restoredRates({ ...stored, updatedAt: 9e15 }, 60)?.updatedAt, 60)
  assert.equal(restoredRates({ ...stored, updatedAt: Number.NaN }, 60)?.updatedAt, 0)
  const half = restoredRates({ ...stored, outputPerS: -1, outputSamples: 7 }, 60)
  assert.equal(half?.outputPerS, undefined)
  assert.equal(half?.outputSamples, 0)
  assert.equal(restoredRates({ ...stored, promptPerS: Number.NaN, outputPerS: 0 }, 60), undefined)
})
