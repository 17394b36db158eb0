// The parts that word things as Go does, as tables.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeKeepAlive, parseGoDuration } from '../../../src/cli/simulator/decode.ts'
import { goJson, parseFirst, plain } from '../../../src/cli/simulator/go-json.ts'
import { displayName, keyOf, parseName, splitSource } from '../../../src/cli/simulator/names.ts'

const messageOf = (work: () => unknown): string => {
  try {
    return `no error: ${JSON.stringify(work())}`
  } catch (error) {
    return (error as Error).message
  }
}

test('broken JSON is refused in the words of Go', () => {
  const cases: [text: string, message: string][] = [
    ['', 'EOF'],
    ['  ', 'EOF'],
    ['{', 'unexpected EOF'],
    ['{"a"', 'unexpected EOF'],
    ['"a', 'unexpected EOF'],
    ['{bad', "invalid character 'b' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['nul!', "invalid character '!' in literal null (expecting 'l')"],
    ['x', "invalid character 'x' looking for beginning of value"],
    ["'", String.raw`invalid character '\'' looking for beginning of value`],
    ['"\n"', String.raw`invalid character '\n' in string literal`],
    [String.raw`"\q"`, "invalid character 'q' in string escape code"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
  ]
  for (const [text, message] of cases)
    assert.equal(
      messageOf(() => parseFirst(text)),
      message,
      text,
    )
})

test('what follows the first value is ignored, and the last of a key wins', () => {
  assert.deepEqual(plain(parseFirst(' {"a":1,"a":[true,null,"\\u00fc"]} }garbage')), {
    a: [true, null, 'ü'],
  })
})

test('written JSON escapes what Go escapes', () => {
  assert.equal(
    goJson({ b: '<think>&\u2028', a: undefined }),
    String.raw`{"b":"\u003cthink\u003e\u0026\u2028"}`,
  )
})

test('durations and keep_alive', () => {
  assert.equal(parseGoDuration('1h30m'), 5_400_000)
  assert.equal(parseGoDuration('1.5s'), 1500)
  assert.equal(
    messageOf(() => parseGoDuration('-1')),
    'time: missing unit in duration "-1"',
  )
  assert.equal(
    messageOf(() => parseGoDuration('5x')),
    'time: unknown unit "x" in duration "5x"',
  )
  assert.equal(
    messageOf(() => parseGoDuration('m')),
    'time: invalid duration "m"',
  )
  const cases: [value: string | number | null, ms: number | undefined][] = [
    [0, 0],
    ['0', 0],
    ['0s', 0],
    [2.5, 2500],
    [-1, Infinity],
    ['-5m', Infinity],
    [null, undefined],
  ]
  for (const [value, ms] of cases) assert.equal(decodeKeepAlive(value), ms)
  assert.equal(
    messageOf(() => decodeKeepAlive(true)),
    "Unsupported type: 'bool'",
  )
})

test('names: what they show as, and which are none', () => {
  const shown: [raw: string, display: string, key: string][] = [
    ['qwen3', 'qwen3:latest', 'registry.ollama.ai/library/qwen3:latest'],
    ['QWEN3:8B', 'QWEN3:8B', 'registry.ollama.ai/library/qwen3:8b'],
    [' library/qwen3 ', 'qwen3:latest', 'registry.ollama.ai/library/qwen3:latest'],
    [
      'https://registry.ollama.ai/library/qwen3',
      'qwen3:latest',
      'registry.ollama.ai/library/qwen3:latest',
    ],
    ['hf.co/a/B-GGUF:Q4_K_M', 'hf.co/a/B-GGUF:Q4_K_M', 'hf.co/a/b-gguf:q4_k_m'],
    ['localhost:5000/me/m', 'localhost:5000/me/m:latest', 'localhost:5000/me/m:latest'],
    [
      'ollama.com/library/qwen3',
      'ollama.com/library/qwen3:latest',
      'ollama.com/library/qwen3:latest',
    ],
  ]
  for (const [raw, display, key] of shown) {
    const name = parseName(raw)
    assert.ok(name, raw)
    assert.deepEqual([displayName(name), keyOf(name)], [display, key])
  }
  for (const raw of [
    'foo.bar/x',
    'hf.co/foo.bar/x',
    'a/b/c/d',
    'm@sha256:abc',
    'mm:',
    '-m',
    'host/name:space/model:tag',
    '::bad::',
    '',
  ]) {
    assert.equal(parseName(raw), undefined, raw)
  }
})

test('names say where a model runs', () => {
  const cases: [raw: string, name: string, source: string][] = [
    ['gpt-oss:120b-cloud', 'gpt-oss:120b', 'cloud'],
    ['gpt-oss:120b:cloud', 'gpt-oss:120b', 'cloud'],
    ['kimi-k2:CLOUD', 'kimi-k2', 'cloud'],
    ['x:local', 'x', 'local'],
    ['gpt-oss-cloud', 'gpt-oss-cloud', 'none'],
    ['host:5000/a-cloud', 'host:5000/a-cloud', 'none'],
  ]
  for (const [raw, name, source] of cases) assert.deepEqual(splitSource(raw), { name, source })
  assert.deepEqual(splitSource('x:cloud:local'), {
    conflict: 'use either :local or :cloud, not both: "x:cloud:local"',
  })
})
