import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Loaded } from '../../../src/gateway/fleet/worker.ts'
import {
  hasBegun,
  LOAD_PATIENCE_MS,
  STUCK_AFTER_MS,
  stoppedByLoad,
  stuckVictim,
} from '../../../src/gateway/policy/pending-load.ts'
import type { LoadWish, PendingLoad } from '../../../src/gateway/policy/pending-load.ts'
import { loadedModel } from '../../support/worker-records.ts'

const pending = (changes: Partial<PendingLoad> = {}): PendingLoad => ({
  key: 'b:1',
  numCtx: undefined,
  since: 1_000,
  residents: new Set(['a:1']),
  idleSince: undefined,
  ...changes,
})
const wish = (changes: Partial<LoadWish> = {}): LoadWish => ({
  key: 'a:1',
  numCtx: undefined,
  keepsAlive: false,
  warm: true,
  ...changes,
})
const ps = (
  readAt: number,
  ...names: [name: string, expiresAt?: string, contextLength?: number][]
): Loaded => {
  const rows = names.map(([name, expiresAt = 'z', contextLength = 4096]) =>
    loadedModel(name, { expiresAt, contextLength }),
  )
  return {
    state: 'known',
    models: new Map(rows.map((row) => [row.key, row])),
    readAt,
    error: undefined,
  }
}

const LATE = 1_000 + LOAD_PATIENCE_MS

const stops: [name: string, wish: LoadWish, now: number, stopped: boolean][] = [
  ['a loaded model overtakes for a while', wish(), LATE - 1, false],
  ['and then no more', wish(), LATE, true],
  ['with keep_alive it never does', wish({ keepsAlive: true }), 1_000, true],
  ['another load does not', wish({ key: 'c:1', warm: false }), 1_000, true],
  ['the same model joins', wish({ key: 'b:1', warm: false, keepsAlive: true }), LATE, false],
  [
    'the same model in another size does not',
    wish({ key: 'b:1', warm: false, numCtx: 9 }),
    1_000,
    true,
  ],
]
for (const [name, wanted, now, stopped] of stops) {
  test(`while a load is pending: ${name}`, () => {
    assert.equal(stoppedByLoad(pending(), wanted, now) !== undefined, stopped)
  })
}

const begun: [name: string, pending: PendingLoad, loaded: Loaded, begun: boolean][] = [
  ['the victim is gone', pending(), ps(1_001), true],
  ['the new model is there', pending(), ps(1_001, ['a:1'], ['b:1']), true],
  ['nothing has changed', pending(), ps(1_001, ['a:1']), false],
  ['an answer from before proves nothing', pending(), ps(1_000), false],
  ['ps was never read', pending(), { state: 'unknown', error: undefined }, false],
  [
    'a reload in the new size',
    pending({ key: 'a:1', numCtx: 9 }),
    ps(1_001, ['a:1', 'z', 9]),
    true,
  ],
  ['a reload still in the old one', pending({ key: 'a:1', numCtx: 9 }), ps(1_001, ['a:1']), false],
]
for (const [name, load, loaded, is] of begun) {
  test(`a load has begun: ${name}`, () => assert.equal(hasBegun(load, loaded), is))
}

const stuck = pending({ idleSince: 2_000, residents: new Set(['a:1', 'c:1']) })
const victims: [
  name: string,
  pending: PendingLoad,
  loaded: Loaded,
  now: number,
  victim: string | undefined,
][] = [
  [
    'the one that would expire first',
    stuck,
    ps(2_001, ['a:1', '2'], ['c:1', '1']),
    2_000 + STUCK_AFTER_MS,
    'c:1',
  ],
  ['not before its time', stuck, ps(2_001, ['a:1'], ['c:1']), 1_999 + STUCK_AFTER_MS, undefined],
  ['not while something runs', pending(), ps(2_001, ['a:1']), 99_999, undefined],
  ['not on an old answer', stuck, ps(2_000, ['a:1'], ['c:1']), 99_999, undefined],
  ['not once it has begun', stuck, ps(2_001, ['a:1']), 99_999, undefined],
  [
    'never the model that is to be reloaded',
    pending({ key: 'a:1', numCtx: 9, idleSince: 2_000 }),
    ps(2_001, ['a:1']),
    99_999,
    undefined,
  ],
]
for (const [name, load, loaded, now, victim] of victims) {
  test(`a stuck load is freed by unloading: ${name}`, () => {
    assert.equal(stuckVictim(load, loaded, now), victim)
  })
}
