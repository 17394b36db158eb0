import assert from 'node:assert/strict'
import { test } from 'node:test'
import stringWidth from 'string-width'
import {
  fit,
  pad,
  sanitise,
  sanitiseJson,
  truncateEnd,
  truncateMiddle,
  width,
} from '../../../src/tui/present/text.ts'

/** Names as they occur, and as somebody with bad intent would choose them. */
const NAMES = [
  'qwen3:8b',
  '模型-アルファ:8b',
  '🦙🚀:latest',
  'e\u0301té:1b',
  '👩‍👩‍👧‍👦:7b',
  'рабочий-1',
  'مدل:8b',
  'ｶﾞﾊﾞ:1',
  '한국어:3b',
  '\u1112\u1161\u11ab:1b',
  '❤️:1b',
  '❤:1b',
  '1️⃣:1b',
  '🇩🇪:1b',
  '✗●✓○↳?',
  '',
  'हिन्दी:2b',
]

test('width is counted as Ink counts it', () => {
  for (const name of NAMES) assert.equal(width(name), stringWidth(name), JSON.stringify(name))
})

test('width of what is known', () => {
  const cases: [string, number][] = [
    ['abc', 3],
    ['模型', 4],
    ['🦙', 2],
    ['e\u0301', 1],
    ['👩‍👩‍👧‍👦', 2],
    ['⛔', 2],
    ['✗', 1],
    ['한', 2],
    ['\u1112\u1161\u11ab', 2],
  ]
  for (const [text, cells] of cases) assert.equal(width(text), cells, text)
})

// B164: names of models and workers are of any script, and the table stays straight.
test('fitted text has exactly the cells asked for, at every width and for both cuts', () => {
  for (const name of NAMES) {
    for (let cells = 1; cells <= 20; cells += 1) {
      assert.equal(width(fit(name, cells)), cells, `${name} at ${cells}`)
      assert.equal(width(fit(name, cells, 'middle')), cells, `${name} in the middle at ${cells}`)
    }
  }
})

test('a cut never goes through a letter', () => {
  assert.equal(truncateEnd('模型模型', 4), '模…')
  assert.equal(truncateEnd('👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 3), '👩‍👩‍👧‍👦…')
  assert.equal(truncateEnd('e\u0301e\u0301e\u0301', 2), 'e\u0301…')
})

test('a cut in the middle keeps the tag of a model', () => {
  assert.equal(truncateMiddle('a-model-with-a-very-long-name:8b', 16), 'a-model-with…:8b')
  assert.equal(truncateMiddle('no-tag-but-a-long-name', 11), 'no-ta…-name')
  assert.equal(truncateMiddle('m:a-tag-that-is-longer-than-all', 10), 'm:a-tag-t…')
  assert.equal(truncateMiddle('short:8b', 16), 'short:8b')
})

test('padding counts cells, not letters', () => {
  assert.equal(pad('模', 4), '模  ')
  assert.equal(pad('7', 3, 'right'), '  7')
  assert.equal(pad('longer', 3), 'longer')
})

// B166: a tag, an error or a user agent may try to write the clipboard or erase the screen.
test('nothing in foreign text steers the terminal or hides', () => {
  const cases: [string, string][] = [
    ['plain:8b', 'plain:8b'],
    ['x\u001b]52;c;ZXZpbA==\u0007:1', 'x\\u001b]52;c;ZXZpbA==\\u0007:1'],
    ['\u001b[2J', '\\u001b[2J'],
    ['a\u009bb', 'a\\u009bb'],
    ['a\nb\tc', 'a\\u000ab\\u0009c'],
    ['\u202egpj.exe', '\\u202egpj.exe'],
    ['a\u200bb', 'a\\u200bb'],
    ['a\ufeffb', 'a\\ufeffb'],
    ['a\u200db', 'a\\u200db'],
    ['a\u2028b', 'a\\u2028b'],
    ['tag\u{e0041}', 'tag\\u{e0041}'],
    ['lone \ud800', 'lone \\ud800'],
    ['\u3164', '\\u3164'],
    ['👩‍👩‍👧', '👩‍👩‍👧'],
    ['👩🏽‍🚒', '👩🏽‍🚒'],
    ['❤️‍🔥', '❤️‍🔥'],
    ['模型', '模型'],
    ['e\u0301', 'e\u0301'],
  ]
  for (const [text, shown] of cases) assert.equal(sanitise(text), shown)
})

test('escaped JSON parses to the same value', () => {
  const value = { name: 'x\u009b\u202e\u{e0041}\u007f', list: ['👩‍👩‍👧', '\u2028'] }
  const text = sanitiseJson(JSON.stringify(value, undefined, 2))
  assert.deepEqual(JSON.parse(text), value)
  assert.doesNotMatch(text, /[\u007f-\u009f\u202e\u2028]/)
})
