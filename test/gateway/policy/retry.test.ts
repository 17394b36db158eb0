import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideNext } from '../../../src/gateway/policy/retry.ts'
import type { AttemptFailure } from '../../../src/gateway/policy/retry.ts'

const limits = { maxAttempts: 3, budgetMs: 60_000, sinceFirstFailureMs: 10 }

const cases: {
  name: string
  kinds: AttemptFailure['kind'][]
  since?: number
  expect: 'again' | 'give_up'
}[] = [
  { name: 'one refused connection', kinds: ['transport'], expect: 'again' },
  { name: 'two of three attempts used', kinds: ['transport', 'silent'], expect: 'again' },
  { name: 'all attempts used', kinds: ['transport', 'silent', 'load_failed'], expect: 'give_up' },
  { name: 'a busy answer is no attempt', kinds: ['busy', 'busy', 'busy', 'busy'], expect: 'again' },
  {
    name: 'busy does not count among others',
    kinds: ['busy', 'transport', 'busy', 'transport'],
    expect: 'again',
  },
  {
    name: 'a worker that answers probes is busy: never replayed',
    kinds: ['timeout'],
    expect: 'give_up',
  },
  { name: 'the budget is over', kinds: ['transport'], since: 60_001, expect: 'give_up' },
  { name: 'the budget just holds', kinds: ['transport'], since: 60_000, expect: 'again' },
  { name: 'a missing model may be found elsewhere', kinds: ['missing_model'], expect: 'again' },
]

for (const { name, kinds, since, expect } of cases) {
  test(name, () => {
    const failures = kinds.map((kind) => ({ kind }))
    const sinceFirstFailureMs = since ?? limits.sinceFirstFailureMs
    assert.equal(decideNext(failures, { ...limits, sinceFirstFailureMs }), expect)
  })
}
