import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelLimit } from '../../../src/gateway/policy/concurrency.ts'

const rules = {
  max_concurrent: 4,
  model_concurrency: { 'qwen3:8b': 2, 'gemma4:*': 1, 'g*': 3, '*': 4, Gamma: 1, 'huge:*': 9 },
}

// The exact name, else the longest prefix, else `*`, and never more than the worker has.
const cases: [key: string, limit: number][] = [
  ['qwen3:8b', 2],
  ['qwen3:14b', 4],
  ['gemma4:27b', 1],
  ['glm:9b', 3],
  ['gamma:latest', 1],
  ['gamma:2b', 3],
  ['huge:1t', 4],
  ['other:1', 4],
]

for (const [key, limit] of cases) {
  test(`${key} has ${limit} slots`, () => assert.equal(modelLimit(rules, key), limit))
}

test('without a matching pattern the worker’s own limit holds', () => {
  assert.equal(modelLimit({ max_concurrent: 3, model_concurrency: { 'a:*': 1 } }, 'b:1'), 3)
})
