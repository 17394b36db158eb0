import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  breakerAnswer,
  breakerFault,
  breakerGate,
  closedBreaker,
  nextTryAt,
  type BreakerState,
} from '../../../src/gateway/policy/breaker.ts'

const limits = { failures: 3, window: 1000, open: 100, max_open: 350 }

/** `f` is a fault and `a` an answer, each at its time. */
type Step = ['f' | 'a', number]

function after(steps: readonly Step[]): BreakerState {
  return steps.reduce<BreakerState>(
    (state, [what, at]) =>
      what === 'f' ? breakerFault(state, limits, at) : breakerAnswer(state, at),
    closedBreaker,
  )
}

// One line per case: what happened, when it is asked, the gate, the time of the next try.
const cases: [name: string, Step[], now: number, gate: string, next: number | undefined][] = [
  ['new', [], 0, 'closed', undefined],
  [
    'below the limit',
    [
      ['f', 0],
      ['f', 1],
    ],
    2,
    'closed',
    undefined,
  ],
  [
    'at the limit',
    [
      ['f', 0],
      ['f', 1],
      ['f', 2],
    ],
    3,
    'open',
    102,
  ],
  [
    'faults fall out of the window',
    [
      ['f', 0],
      ['f', 900],
      ['f', 1000],
    ],
    1001,
    'closed',
    undefined,
  ],
  [
    'just within the window',
    [
      ['f', 0],
      ['f', 900],
      ['f', 999],
    ],
    1000,
    'open',
    1099,
  ],
  [
    'an answer between does not forgive',
    [
      ['f', 0],
      ['f', 1],
      ['a', 2],
      ['f', 3],
    ],
    4,
    'open',
    103,
  ],
  [
    'the pause is over',
    [
      ['f', 0],
      ['f', 1],
      ['f', 2],
    ],
    102,
    'half_open',
    102,
  ],
  [
    'late faults of older requests do not prolong',
    [
      ['f', 0],
      ['f', 1],
      ['f', 2],
      ['f', 50],
      ['f', 60],
    ],
    102,
    'half_open',
    102,
  ],
  [
    'a failed trial doubles',
    [
      ['f', 0],
      ['f', 1],
      ['f', 2],
      ['f', 110],
    ],
    309,
    'open',
    310,
  ],
  [
    'the pause has a bound',
    [
      ['f', 0],
      ['f', 1],
      ['f', 2],
      ['f', 110],
      ['f', 400],
      ['f', 900],
    ],
    901,
    'open',
    1250,
  ],
  [
    'a good trial closes',
    [
      ['f', 0],
      ['f', 1],
      ['f', 2],
      ['a', 110],
    ],
    111,
    'closed',
    undefined,
  ],
  [
    'after closing it counts from nothing',
    [
      ['f', 0],
      ['f', 1],
      ['f', 2],
      ['a', 110],
      ['f', 111],
      ['f', 112],
    ],
    113,
    'closed',
    undefined,
  ],
  [
    'an answer to an older request does not end the pause',
    [
      ['f', 0],
      ['f', 1],
      ['f', 2],
      ['a', 50],
    ],
    60,
    'open',
    102,
  ],
]

for (const [name, steps, now, gate, next] of cases) {
  test(name, () => {
    const state = after(steps)
    assert.equal(breakerGate(state, now), gate)
    assert.equal(nextTryAt(state), next)
  })
}

test('a thousand faults are not kept', () => {
  let state: BreakerState = closedBreaker
  for (let at = 0; at < 1000; at += 1) {
    state = breakerFault(state, { ...limits, failures: 5000, window: 10 }, at)
  }
  assert.equal(state.phase === 'closed' && state.faults.length, 10)
})
