import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimatePrompt } from '../../../src/gateway/policy/context-guard.ts'
import { learnCharsPerToken } from '../../../src/gateway/policy/token-learning.ts'
import type { TokenSample } from '../../../src/gateway/policy/token-learning.ts'

const sample = (promptChars: number, promptTokens: number, more = {}): TokenSample => ({
  promptChars,
  promptTokens,
  images: 0,
  countsWhole: true,
  ...more,
})

// What is known before, one sample, what is known then.
const samples: [
  what: string,
  known: number | undefined,
  sample: TokenSample,
  then: number | undefined,
][] = [
  ['the first moves the default a fifth of the way', undefined, sample(9000, 4500), 3.6],
  ['the next moves what is known', 3.6, sample(9000, 4500), 3.28],
  ['what is as expected changes nothing', 4, sample(4000, 1000), 4],
  ['a short prompt is mostly template', undefined, sample(399, 200), undefined],
  ['images count as tokens nobody sees', 3.6, sample(9000, 4500, { images: 1 }), 3.6],
  ['a count of nothing', 3.6, sample(9000, 0), 3.6],
  ['no tokenizer: the worker cut the prompt', 4, sample(60_000, 1024), 4],
  ['a worker that leaves out what it had cached', 4, sample(9000, 1300, { countsWhole: false }), 4],
  ['no tokenizer: five tokens a character', 4, sample(1000, 5000), 4],
  ['a script of which each character is two tokens', 1.5, sample(1000, 2000), 1.3],
  ['which lowers everybody’s no further than this', 1, sample(1000, 2000), 1],
  ['never above what the margin covers', 4.4, sample(8000, 1000), 4.5],
]

for (const [what, known, one, then] of samples) {
  test(`characters per token: ${what}`, () => {
    const learned = learnCharsPerToken(known, one)
    if (then === undefined) assert.equal(learned, undefined)
    else assert.ok(Math.abs((learned ?? 0) - then) < 1e-9, String(learned))
  })
}

// Whatever workers have counted, an estimate stays above the count by the margin's share.
test('learning never removes the margin', () => {
  for (const ratio of [1, 2, 3.3, 4, 5]) {
    let known: number | undefined
    for (let i = 0; i < 200; i += 1)
      known = learnCharsPerToken(known, sample(30_000, 30_000 / ratio))
    const estimate = estimatePrompt(
      { promptChars: 30_000, images: 0 },
      { charsPerToken: known ?? 4, marginPercent: 15, reservePerImage: 0 },
    )
    assert.ok(estimate >= (30_000 / ratio) * 1.149, `${ratio}: ${estimate}`)
  }
})

// A worker that cuts every prompt in silence must not teach that everything fits.
test('prompts that were cut in silence teach nothing, however many', () => {
  let known: number | undefined = 4
  for (let i = 0; i < 1000; i += 1) known = learnCharsPerToken(known, sample(75_000, 1024))
  assert.equal(known, 4)
})

// Whole messages are dropped until the rest fits: what is counted then looks like few tokens.
test('prompts that were cut a little never make text look shorter than it is', () => {
  let known: number | undefined = 4
  for (let i = 0; i < 1000; i += 1) known = learnCharsPerToken(known, sample(24_000, 4000))
  const rules = { charsPerToken: known ?? 0, marginPercent: 15, reservePerImage: 0 }
  assert.ok(estimatePrompt({ promptChars: 40_000, images: 0 }, rules) >= 10_000)
})
