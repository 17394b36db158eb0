// What is typed after `/`.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type FilterFields, fitsFilter, parseFilter } from '../../src/tui/filter.ts'

const row: FilterFields = {
  text: ['qwen3:8b', 'node-1'],
  model: ['qwen3:8b'],
  worker: ['node-1'],
  cap: ['completion', 'tools'],
  state: ['loaded'],
}

const CASES: readonly (readonly [string, boolean])[] = [
  ['', true],
  ['qwen', true],
  ['QWEN3', true],
  ['qwen3:8b', true],
  ['gemma', false],
  ['!gemma', true],
  ['!qwen', false],
  ['qwen node-1', true],
  ['qwen node-2', false],
  ['~q8', true],
  ['~8q', false],
  ['cap:tools', true],
  ['cap:vision', false],
  ['!cap:vision', true],
  ['worker:node-1 state:loaded', true],
  ['model:qwen3:*', true],
  ['model:qwen3:*b', true],
  ['model:*:7b', false],
  ['qwen*8b', true],
  ['8b*', false],
  ['tenant:acme', false],
  ['!', true],
  ['cap:', true],
  ['(.*)+$', false],
]

suite('filters', () => {
  for (const [text, fits] of CASES) {
    test(`${text} ${fits ? 'fits' : 'does not fit'}`, () => {
      assert.equal(fitsFilter(parseFilter(text), row), fits)
    })
  }
})
