import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  parseInventoryName,
  parseModelName,
  parsePattern,
} from '../../../src/gateway/policy/model-name.ts'

// One line per spelling: what is shown, and the key under which all spellings meet.
const names: [raw: string, display: string, key: string, source: '' | 'cloud' | 'local'][] = [
  ['qwen3', 'qwen3:latest', 'qwen3:latest', ''],
  ['QWEN3:8B', 'QWEN3:8B', 'qwen3:8b', ''],
  ['  qwen3:8b\n', 'qwen3:8b', 'qwen3:8b', ''],
  ['library/qwen3', 'qwen3:latest', 'qwen3:latest', ''],
  ['Library/qwen3', 'qwen3:latest', 'qwen3:latest', ''],
  ['https://registry.ollama.ai/library/qwen3', 'qwen3:latest', 'qwen3:latest', ''],
  ['orcarouter/foo', 'orcarouter/foo:latest', 'orcarouter/foo:latest', ''],
  [
    'hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M',
    'hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M',
    'hf.co/bartowski/llama-3.2-3b-instruct-gguf:q4_k_m',
    '',
  ],
  ['localhost:5000/me/m', 'localhost:5000/me/m:latest', 'localhost:5000/me/m:latest', ''],
  [
    'localhost:5000/library/m',
    'localhost:5000/library/m:latest',
    'localhost:5000/library/m:latest',
    '',
  ],
  [
    'ollama.com/library/qwen3',
    'ollama.com/library/qwen3:latest',
    'ollama.com/library/qwen3:latest',
    '',
  ],
  ['gpt-oss-cloud', 'gpt-oss-cloud:latest', 'gpt-oss-cloud:latest', ''],
  // One cloud model, one key, however it is asked for; it is the name that a stub is listed under.
  ['gpt-oss:120b-cloud', 'gpt-oss:120b-cloud', 'gpt-oss:120b-cloud', 'cloud'],
  ['gpt-oss:120b:cloud', 'gpt-oss:120b-cloud', 'gpt-oss:120b-cloud', 'cloud'],
  ['GPT-OSS:120B-CLOUD', 'GPT-OSS:120B-cloud', 'gpt-oss:120b-cloud', 'cloud'],
  ['kimi-k2.6:cloud', 'kimi-k2.6:cloud', 'kimi-k2.6:cloud', 'cloud'],
  ['kimi-k2.6:latest:cloud', 'kimi-k2.6:cloud', 'kimi-k2.6:cloud', 'cloud'],
  ['library/kimi-k2.6:Cloud', 'kimi-k2.6:cloud', 'kimi-k2.6:cloud', 'cloud'],
  ['x:local', 'x:latest', 'x:latest', 'local'],
  ['x:8b:LOCAL', 'x:8b', 'x:8b', 'local'],
  // The transcripts name-1 to name-7: a real worker ran `chat` for each of these.
  ['CHAT', 'CHAT:latest', 'chat:latest', ''],
  ['chat:latest', 'chat:latest', 'chat:latest', ''],
  ['chat:LATEST', 'chat:LATEST', 'chat:latest', ''],
  ['library/chat', 'chat:latest', 'chat:latest', ''],
  ['registry.ollama.ai/library/chat:latest', 'chat:latest', 'chat:latest', ''],
  ['registry.ollama.ai/Library/Chat:Latest', 'Chat:Latest', 'chat:latest', ''],
  ['http://registry.ollama.ai/library/chat', 'chat:latest', 'chat:latest', ''],
  // cloud-1 to cloud-3: a real worker would have asked ollama.com.
  ['kimi-k2:cloud', 'kimi-k2:cloud', 'kimi-k2:cloud', 'cloud'],
  ['chat:cloud', 'chat:cloud', 'chat:cloud', 'cloud'],
]

for (const [raw, display, key, source] of names) {
  test(`the name ${JSON.stringify(raw)} is ${key}`, () => {
    assert.deepEqual(parseModelName(raw), {
      ok: true,
      name: { display, key, cloud: source === 'cloud', local: source === 'local' },
    })
  })
}

const badNames: [raw: string, reason: string][] = [
  ['', 'model is required'],
  [' \t', 'model is required'],
  ['x:cloud:local', 'use either :local or :cloud, not both: "x:cloud:local"'],
  ['x:local:cloud', 'use either :local or :cloud, not both: "x:local:cloud"'],
  ['x:8b-cloud:cloud', 'use either :local or :cloud, not both: "x:8b-cloud:cloud"'],
  ['foo.bar/x', 'invalid model name'],
  ['hf.co/foo.bar/x', 'invalid model name'],
  ['a/b/c/d', 'invalid model name'],
  ['m@sha256:abc', 'invalid model name'],
  ['mm:', 'invalid model name'],
  ['/mm', 'invalid model name'],
  ['a//mm', 'invalid model name'],
  ['mm/', 'invalid model name'],
  [':8b', 'invalid model name'],
  ['-m', 'invalid model name'],
  ['a b', 'invalid model name'],
  ['::bad::', 'invalid model name'],
  ['x:-cloud', 'invalid model name'],
  ['host/name:space/model:tag', 'invalid model name'],
  ['ünïcode', 'invalid model name'],
  ['m'.repeat(81), 'invalid model name'],
  ['m'.repeat(1_000_000), 'invalid model name'],
]

for (const [raw, reason] of badNames) {
  test(`the name ${JSON.stringify(raw.slice(0, 40))} is refused`, () => {
    assert.deepEqual(parseModelName(raw), { ok: false, reason })
  })
}

test('a stub that a worker lists has the key under which it is asked for', () => {
  assert.deepEqual(parseInventoryName('gpt-oss:120b-cloud', { remoteHost: 'https://ollama.com' }), {
    ok: true,
    name: {
      display: 'gpt-oss:120b-cloud',
      key: 'gpt-oss:120b-cloud',
      cloud: true,
      local: false,
    },
  })
})

test('a stub under a plain name is a cloud model all the same', () => {
  const parsed = parseInventoryName('helper', { remoteHost: 'https://ollama.com' })
  assert.ok(parsed.ok && parsed.name.cloud && parsed.name.key === 'helper:latest')
})

test('a listed name is not cut where a request would be: foo:local stays', () => {
  const parsed = parseInventoryName('foo:local')
  assert.ok(parsed.ok && parsed.name.key === 'foo:local' && !parsed.name.cloud)
})

const patterns: [text: string, pattern: string, exact: boolean][] = [
  ['qwen3:8b', 'qwen3:8b', true],
  ['qwen3', 'qwen3:latest', true],
  ['Library/QWEN3:8B', 'qwen3:8b', true],
  ['gpt-oss:120b:cloud', 'gpt-oss:120b-cloud', true],
  ['gemma4:*', 'gemma4:*', false],
  ['GEMMA4:*', 'gemma4:*', false],
  ['library/gemma4:*', 'gemma4:*', false],
  ['registry.ollama.ai/library/gemma4:*', 'gemma4:*', false],
  ['orcarouter/*', 'orcarouter/*', false],
  ['hf.co/*', 'hf.co/*', false],
  ['*', '*', false],
]

for (const [text, pattern, exact] of patterns) {
  test(`the pattern ${text} is ${pattern}`, () => {
    assert.deepEqual(parsePattern(text), { ok: true, pattern, exact })
  })
}

const badPatterns: [text: string, reason: RegExp][] = [
  ['', /must not be empty/],
  ['a*b', /only one trailing \*/],
  ['a**', /only one trailing \*/],
  ['*:8b', /only one trailing \*/],
  ['library/*', /would match every model; write "\*"/],
  ['gem ma:*', /cannot be the beginning/],
  ['-x*', /cannot be the beginning/],
  ['qwen3:', /is not a model: invalid model name/],
  ['x:cloud:local', /is not a model: use either/],
]

for (const [text, reason] of badPatterns) {
  test(`the pattern ${JSON.stringify(text)} is refused in a sentence`, () => {
    const parsed = parsePattern(text)
    assert.ok(!parsed.ok)
    assert.match(parsed.reason, reason)
  })
}
