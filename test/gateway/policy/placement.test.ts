import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  compilePlacement,
  decidePlacement,
  describeVerdict,
  whyPlacement,
  type PlacementRules,
} from '../../../src/gateway/policy/placement.ts'

const rules = (
  mode: PlacementRules['mode'],
  allowed_models: string[] = [],
  denied_models: string[] = [],
): PlacementRules => ({ mode, allowed_models, denied_models })

const gemma = rules('allow_all', ['gemma4:latest'], ['gemma4:*'])
const nested = rules('whitelist', ['a*', 'abc:*', 'abcd:1'], ['ab*', 'abc:x*'])

// One line per case: the rules, the model, and the rule that must have decided.
const cases: [name: string, rules: PlacementRules, key: string, allowed: boolean, by: string][] = [
  ['no rule: the mode', rules('allow_all'), 'x:1', true, 'placement mode allow_all'],
  ['no rule in a whitelist', rules('whitelist'), 'x:1', false, 'placement mode whitelist'],
  ['exact beats prefix', gemma, 'gemma4:latest', true, 'placement rule allow gemma4:latest'],
  ['prefix denies the rest', gemma, 'gemma4:27b', false, 'placement rule deny gemma4:*'],
  ['others are the mode’s', gemma, 'gemma:2b', true, 'placement mode allow_all'],
  ['longer prefix wins', nested, 'abc:1', true, 'placement rule allow abc:*'],
  ['longest prefix wins', nested, 'abc:x1', false, 'placement rule deny abc:x*'],
  ['shorter prefix between', nested, 'abz:1', false, 'placement rule deny ab*'],
  ['shortest prefix', nested, 'azz:1', true, 'placement rule allow a*'],
  ['above the last prefix', nested, 'z:1', false, 'placement mode whitelist'],
  ['below the first prefix', nested, '0:1', false, 'placement mode whitelist'],
  [
    'deny wins a tie, exact',
    rules('allow_all', ['x'], ['x']),
    'x:latest',
    false,
    'placement rule deny x:latest',
  ],
  [
    'deny wins a tie, prefix',
    rules('allow_all', ['x:*'], ['X:*']),
    'x:1',
    false,
    'placement rule deny x:*',
  ],
  [
    'a star is the shortest prefix',
    rules('allow_all', ['q*'], ['*']),
    'q:1',
    true,
    'placement rule allow q*',
  ],
  [
    'a star denies the rest',
    rules('allow_all', ['q*'], ['*']),
    'r:1',
    false,
    'placement rule deny *',
  ],
  // B104: an untagged rule is the rule of `:latest`, and of nothing else.
  [
    'an untagged rule',
    rules('allow_all', [], ['gamma']),
    'gamma:latest',
    false,
    'placement rule deny gamma:latest',
  ],
  [
    'not of other tags',
    rules('allow_all', [], ['gamma']),
    'gamma:2b',
    true,
    'placement mode allow_all',
  ],
  [
    'a rule in any spelling',
    rules('allow_all', [], ['library/QWEN3:*']),
    'qwen3:8b',
    false,
    'placement rule deny qwen3:*',
  ],
]

for (const [name, policy, key, allowed, by] of cases) {
  test(`placement: ${name}`, () => {
    const verdict = decidePlacement(compilePlacement(policy), key, { cloud: false })
    assert.equal(verdict.allowed, allowed)
    assert.equal(describeVerdict(verdict), by)
  })
}

const cloudCases: [rules: PlacementRules, allowed: boolean, kind: string][] = [
  [rules('allow_all'), false, 'cloud'],
  [rules('allow_all', ['*']), false, 'cloud'],
  [rules('allow_all', ['kimi-k2:*']), false, 'cloud'],
  [rules('whitelist', ['kimi-k2:cloud']), true, 'exact'],
  [rules('whitelist', ['kimi-k2:latest:cloud'], ['*']), true, 'exact'],
  [rules('allow_all', ['kimi-k2:cloud'], ['kimi-k2:cloud']), false, 'exact'],
]

for (const [policy, allowed, kind] of cloudCases) {
  test(`a cloud model under ${JSON.stringify(policy)}: ${allowed}`, () => {
    const verdict = decidePlacement(compilePlacement(policy), 'kimi-k2:cloud', { cloud: true })
    assert.deepEqual([verdict.allowed, verdict.decidedBy.kind], [allowed, kind])
  })
}

test('why names every rule that matched and lost, the most specific first', () => {
  const policy = rules('allow_all', ['*', 'gemma4:latest'], ['gemma4:*', 'g*', 'gemma4'])
  const why = whyPlacement(compilePlacement(policy), 'gemma4:latest', { cloud: false })
  assert.deepEqual(why, {
    allowed: false,
    decidedBy: { kind: 'exact', pattern: 'gemma4:latest' },
    competing: [
      { effect: 'allow', pattern: 'gemma4:latest' },
      { effect: 'deny', pattern: 'gemma4:*' },
      { effect: 'deny', pattern: 'g*' },
      { effect: 'allow', pattern: '*' },
    ],
  })
})

// The lookup walks a sorted list; a plain search over all rules must agree with it everywhere.
test('the compiled lookup agrees with a plain search over 300 random rules', () => {
  let seed = 7
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  const word = (length: number): string => Array.from({ length }, () => 'abc'[random(3)]).join('')
  const patterns = Array.from({ length: 300 }, () => `${word(1 + random(6))}*`)
  const policy = rules('allow_all', patterns.slice(0, 150), patterns.slice(150))
  const compiled = compilePlacement(policy)
  for (let round = 0; round < 2_000; round += 1) {
    const key = `${word(1 + random(8))}:latest`
    const best = patterns
      .filter((pattern) => key.startsWith(pattern.slice(0, -1)))
      .reduce((longest, pattern) => Math.max(longest, pattern.length), 0)
    const denied = policy.denied_models.some(
      (pattern) => pattern.length === best && key.startsWith(pattern.slice(0, -1)),
    )
    assert.equal(
      decidePlacement(compiled, key, { cloud: false }).allowed,
      best === 0 || !denied,
      key,
    )
  }
})
