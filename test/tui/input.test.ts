// From bytes of the keyboard to names of keys, and from names to what they do.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type KeyFlags, keysOf } from '../../src/tui/input.ts'
import { bindingOf, type KeyContext } from '../../src/tui/keymap.ts'
import { KEYMAP } from '../../src/tui/keys.ts'

const NONE: KeyFlags = {
  upArrow: false,
  downArrow: false,
  leftArrow: false,
  rightArrow: false,
  pageDown: false,
  pageUp: false,
  home: false,
  end: false,
  return: false,
  escape: false,
  ctrl: false,
  shift: false,
  tab: false,
  backspace: false,
  delete: false,
  meta: false,
}

const CASES: readonly (readonly [string, Partial<KeyFlags>, readonly string[]])[] = [
  ['j', {}, ['j']],
  ['jjj', {}, ['j', 'j', 'j']],
  ['x\ry', {}, ['x', 'enter', 'y']],
  ['A', { shift: true }, ['A']],
  ['d', { ctrl: true }, ['C-d']],
  ['d', { meta: true }, ['M-d']],
  [' ', {}, ['space']],
  [' ', { ctrl: true }, ['C-space']],
  ['\r', { return: true }, ['enter']],
  ['\n', {}, ['enter']],
  ['', { escape: true, meta: true }, ['esc']],
  ['', { downArrow: true }, ['down']],
  ['', { rightArrow: true, ctrl: true }, ['C-right']],
  ['', { tab: true }, ['tab']],
  ['', { tab: true, shift: true }, ['S-tab']],
  ['', { backspace: true }, ['backspace']],
  ['', {}, []],
  ['é日🎉', {}, ['é', '日', '🎉']],
  ['d\u0004', {}, ['d', 'C-d']],
  ['👩‍👩‍👧', {}, ['👩‍👩‍👧']],
]

suite('keys of an event', () => {
  for (const [input, flags, keys] of CASES) {
    test(`${JSON.stringify(input)} ${Object.keys(flags).join(' ')}`, () => {
      assert.deepEqual(keysOf(input, { ...NONE, ...flags }), keys)
    })
  }
})

test('no key does two things in one place', () => {
  const seen = new Set<string>()
  for (const { on, keys } of KEYMAP) {
    for (const key of keys) {
      assert.ok(!seen.has(`${on} ${key}`), `${on} ${key}`)
      seen.add(`${on} ${key}`)
    }
  }
})

test('keys that terminals do not tell apart are not bound apart', () => {
  for (const key of ['C-i', 'C-m', 'C-h', 'C-[', 'C-j']) {
    assert.ok(
      KEYMAP.every(({ keys }) => !keys.includes(key)),
      key,
    )
  }
})

test('an inner context is asked before what holds everywhere', () => {
  const of = (key: string, context: KeyContext) => bindingOf(key, context)?.id
  assert.equal(of('u', 'placement'), 'undo')
  assert.equal(of('u', 'events'), 'event.undo')
  assert.equal(of('d', 'placement'), 'cell.deny')
  assert.equal(of('d', 'workers'), undefined)
  assert.equal(of('C-d', 'placement'), 'move.halfDown')
  assert.equal(of('M-d', 'placement'), undefined)
  assert.equal(of('n', 'ruleset'), 'rule.new')
  assert.equal(of('n', 'models'), 'filter.next')
})
