import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SilenceWatch } from '../../../src/gateway/proxy/silence-watch.ts'
import type { Silence } from '../../../src/gateway/proxy/silence-watch.ts'
import { manualClock } from '../../support/manual-clock.ts'

function watched(whole: () => boolean) {
  const clock = manualClock()
  const asked: number[] = []
  const over: Silence['kind'][] = []
  const watch = new SilenceWatch(
    {
      clock,
      probe: () => Promise.resolve({ ok: true }),
      isWhole() {
        asked.push(clock.mono())
        return whole()
      },
      onSilence: ({ kind }) => void over.push(kind),
    },
    { graceMs: 20_000, timeoutMs: 60_000 },
  )
  const start = clock.mono()
  /** In steps as small as its timers need. */
  const pass = (ms: number): void => {
    for (let left = ms; left > 0; left -= 50) clock.advance(50)
  }
  return { watch, asked, over, pass, start }
}

// Looking costs the reading of all that is held, and a worker that has just sent its last word gets
// a moment to end the connection itself.
test('whether the answer is whole is asked after a second of silence, and once', () => {
  const { watch, asked, over, pass, start } = watched(() => false)
  for (let chunk = 0; chunk < 40; chunk += 1) {
    pass(150)
    watch.heard()
  }
  assert.deepEqual(asked, [], 'not while bytes come')
  pass(900)
  assert.deepEqual(asked, [])
  pass(1_200)
  assert.equal(asked.length, 1)
  assert.ok((asked[0] ?? 0) - start >= 40 * 150 + 1_000)
  pass(10_000)
  assert.equal(asked.length, 1, 'nothing has come since')
  watch.heard()
  pass(2_100)
  assert.equal(asked.length, 2)
  assert.deepEqual(over, [])
  watch.stop()
})

test('an answer that is whole is over then, and the watch with it', () => {
  const { over, pass } = watched(() => true)
  pass(2_000)
  assert.deepEqual(over, ['whole'])
  pass(120_000)
  assert.deepEqual(over, ['whole'])
})
