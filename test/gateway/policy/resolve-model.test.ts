import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseModelName } from '../../../src/gateway/policy/model-name.ts'
import { fallbackFor, resolveModel } from '../../../src/gateway/policy/resolve-model.ts'
import type { FallbackRule, Obstacle } from '../../../src/gateway/policy/resolve-model.ts'

const aliases = { 'gpt-4o': 'qwen3:8b', 'Claude-X': 'gpt-4o', 'qwen3:8b': 'qwen3:14b' }

// A client's spelling → the model that runs.
const names: [sent: string, model: string, aliased: boolean][] = [
  ['gpt-4o', 'qwen3:14b', true],
  ['GPT-4o:latest', 'qwen3:14b', true],
  ['claude-x', 'qwen3:14b', true],
  ['qwen3:8b', 'qwen3:14b', true],
  ['qwen3:14b', 'qwen3:14b', false],
  ['library/other', 'other:latest', false],
]

for (const [sent, model, aliased] of names) {
  test(`alias: ${sent} means ${model}`, () => {
    const resolved = resolveModel(aliases, sent)
    assert.ok(resolved.ok)
    assert.deepEqual([resolved.name.display, resolved.aliased], [model, aliased])
  })
}

test('an alias that comes back to itself ends all the same', () => {
  const resolved = resolveModel({ a: 'b', b: 'a' }, 'a')
  assert.ok(resolved.ok)
})

const rules: FallbackRule[] = [
  { model: 'small:*', missing: ['tools', 'vision'], use: 'large:1b' },
  { model: 'small:8b', missing: ['vision'], use: 'eyes:1b' },
  { model: '*', when: 'absent', use: 'large:1b' },
]
const missing = (...list: string[]): Obstacle => ({ kind: 'missing', missing: list })

const fallbacks: [model: string, obstacle: Obstacle, use: string | undefined][] = [
  ['small:8b', missing('tools'), 'large:1b'],
  // The first rule that fits decides, not the most specific.
  ['small:8b', missing('vision'), 'large:1b'],
  ['small:8b', missing('thinking', 'vision'), 'large:1b'],
  ['small:8b', missing('thinking'), undefined],
  ['other:1b', missing('tools'), undefined],
  ['other:1b', { kind: 'absent' }, 'large:1b'],
  // Never itself.
  ['large:1b', { kind: 'absent' }, undefined],
  ['LARGE:1b', { kind: 'absent' }, undefined],
]

for (const [model, obstacle, use] of fallbacks) {
  test(`fallback of ${model}: ${JSON.stringify(obstacle)}`, () => {
    const parsed = parseModelName(model)
    assert.ok(parsed.ok)
    assert.equal(fallbackFor(rules, parsed.name, obstacle)?.display, use)
  })
}
