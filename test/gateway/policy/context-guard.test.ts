import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  effectiveContext,
  estimatePrompt,
  judgeContext,
  judgeNumCtx,
  readNumCtx,
} from '../../../src/gateway/policy/context-guard.ts'
import type { ContextFacts, ContextNeed } from '../../../src/gateway/policy/context-guard.ts'

const facts = (changes: Partial<ContextFacts> = {}): ContextFacts => ({
  loaded: undefined,
  loadedByNumCtx: undefined,
  modelfile: undefined,
  workerDefault: undefined,
  guess: 4096,
  modelMax: undefined,
  workerLimit: undefined,
  gatewayLimit: 32_768,
  ...changes,
})

// Which source speaks, in order, and the caps that lower it.
const sources: [
  what: string,
  facts: ContextFacts,
  numCtx: number | undefined,
  tokens: number,
  source: string,
][] = [
  ['nothing known: the guess', facts(), undefined, 4096, 'guess'],
  ['the worker’s default', facts({ workerDefault: 8192 }), undefined, 8192, 'worker'],
  [
    'the Modelfile before it',
    facts({ workerDefault: 8192, modelfile: 2048 }),
    undefined,
    2048,
    'modelfile',
  ],
  [
    'what is loaded before all',
    facts({ modelfile: 2048, loaded: 16_384 }),
    undefined,
    16_384,
    'loaded',
  ],
  [
    'but not a num_ctx of others',
    facts({ modelfile: 2048, loaded: 16_384, loadedByNumCtx: 16_384 }),
    undefined,
    2048,
    'modelfile',
  ],
  ['its own num_ctx', facts({ loaded: 16_384 }), 6000, 6000, 'num_ctx'],
  ['the worker’s cap', facts({ loaded: 16_384, workerLimit: 8192 }), undefined, 8192, 'loaded'],
  ['the gateway’s cap', facts({ loaded: 131_072 }), undefined, 32_768, 'loaded'],
  [
    'the model’s maximum',
    facts({ workerDefault: 8192, modelMax: 2048 }),
    undefined,
    2048,
    'worker',
  ],
]

for (const [what, known, numCtx, tokens, source] of sources) {
  test(`effective context: ${what}`, () => {
    assert.deepEqual(effectiveContext(known, numCtx), { tokens, source })
  })
}

const need = (promptTokens: number, answerTokens = 0): ContextNeed => ({
  promptTokens,
  answerTokens,
})

const verdicts: [
  what: string,
  need: ContextNeed,
  facts: ContextFacts,
  fits: boolean | 'after_load',
][] = [
  ['just fits', need(8192), facts({ loaded: 8192 }), true],
  ['one too many', need(8193), facts({ loaded: 8192 }), false],
  ['an answer within its quarter', need(6000, 2048), facts({ loaded: 8192 }), true],
  ['of a long answer a quarter counts', need(6144, 32_000), facts({ loaded: 8192 }), true],
  ['but that quarter does', need(6145, 32_000), facts({ loaded: 8192 }), false],
  ['only a guess speaks against it', need(5000), facts(), 'after_load'],
  ['a guess, but a cap as well', need(5000), facts({ workerLimit: 4500 }), false],
  ['more than anybody may have', need(40_000), facts(), false],
]

for (const [what, wanted, known, fits] of verdicts) {
  test(`context guard: ${what}`, () => {
    assert.equal(judgeContext(wanted, known, undefined).fits, fits)
  })
}

test('the estimate counts characters, images and the margin', () => {
  const rules = { charsPerToken: 4, marginPercent: 15, reservePerImage: 2048 }
  assert.equal(estimatePrompt({ promptChars: 4000, images: 0 }, rules), 1150)
  assert.equal(estimatePrompt({ promptChars: 4000, images: 1 }, rules), 3506)
})

const numCtx: [
  policy: 'client' | 'snap' | 'clamp',
  value: number,
  facts: ContextFacts,
  result: number | RegExp,
][] = [
  ['client', 8192, facts(), 8192],
  ['client', 40_000, facts(), /40000 is above the 32768 .*num_ctx\.policy/],
  ['client', 9000, facts({ workerLimit: 8192 }), /9000 is above the 8192/],
  ['client', 9000, facts({ modelMax: 2048 }), /9000 is above the 2048/],
  ['clamp', 40_000, facts(), 32_768],
  ['clamp', 100, facts(), 100],
  ['snap', 100, facts({ loaded: 4096 }), 4096],
  ['snap', 8192, facts({ loaded: 4096 }), 8192],
  ['snap', 40_000, facts({ loaded: 4096 }), /above/],
]

for (const [policy, value, known, result] of numCtx) {
  test(`num_ctx ${value} under ${policy}: ${String(result)}`, () => {
    const judged = judgeNumCtx(value, known, policy)
    if (typeof result === 'number') {
      assert.ok(judged.ok)
      assert.equal(judged.numCtx, result)
      assert.equal(judged.warning === undefined, result === value)
    } else {
      assert.ok(!judged.ok)
      assert.match(judged.detail, result)
    }
  })
}

for (const value of [undefined, null]) {
  test(`num_ctx ${value} is none`, () => {
    assert.deepEqual(readNumCtx(value), { ok: true, numCtx: undefined })
  })
}
for (const value of [0, -1, 1.5, '8192', true, Number.NaN, {}]) {
  test(`num_ctx ${JSON.stringify(value)} is refused`, () => assert.ok(!readNumCtx(value).ok))
}
