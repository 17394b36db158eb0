import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coolDownAfter, isForgotten } from '../../../src/gateway/policy/cool-down.ts'
import type { CoolDown } from '../../../src/gateway/policy/cool-down.ts'

// B010 asks that a model that does not start is left alone; a runner that died once is no such model.
test('a first failure pauses briefly, each further one for twice as long, up to half a minute', () => {
  let cooling: CoolDown | undefined
  const pauses: number[] = []
  for (let failure = 0; failure < 6; failure += 1) {
    cooling = coolDownAfter(cooling, cooling?.until ?? 100)
    pauses.push(cooling.pauseMs)
  }
  assert.deepEqual(pauses, [2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
})

test('failures during the pause neither prolong nor double it', () => {
  const first = coolDownAfter(undefined, 100)
  assert.equal(first.until, 2_100)
  assert.equal(coolDownAfter(first, 2_099), first)
})

test('a failure is a first one again half a minute after the pause', () => {
  const { until, pauseMs } = coolDownAfter(undefined, 100)
  assert.equal(isForgotten({ until, pauseMs }, 32_099), false)
  assert.equal(isForgotten({ until, pauseMs }, 32_100), true)
})
