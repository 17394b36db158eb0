import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { PlacementRules } from '../../../src/gateway/policy/placement.ts'
import {
  editPlacement,
  normalRules,
  sameRules,
} from '../../../src/gateway/policy/placement-edit.ts'
import type { Edit, Override } from '../../../src/gateway/policy/placement-edit.ts'
import { placementImpact } from '../../../src/gateway/policy/placement-impact.ts'
import { compilePlacement } from '../../../src/gateway/policy/placement.ts'

/** `mode +allowed -denied`, as in `whitelist +gemma4:* -gemma4:27b`. */
function rules(text: string): PlacementRules {
  const [mode, ...words] = text.split(' ')
  const of = (sign: string) =>
    words.filter((word) => word.startsWith(sign)).map((word) => word.slice(1))
  return { mode: mode as PlacementRules['mode'], allowed_models: of('+'), denied_models: of('-') }
}

function text(override: Override): string {
  if (override === undefined) return 'none'
  const { mode, allowed_models, denied_models } = override
  return [mode, ...allowed_models.map((m) => `+${m}`), ...denied_models.map((m) => `-${m}`)].join(
    ' ',
  )
}

const qwen = { key: 'qwen3:8b', cloud: false }
const cloud = { key: 'kimi:cloud', cloud: true }

// baseline, override before ('none'), edit, override after (or '=' for no change)
const TABLE: [string, string, Edit, string][] = [
  ['allow_all', 'none', { kind: 'deny', pattern: 'qwen3:8b' }, 'allow_all -qwen3:8b'],
  // The first edit starts from a copy of the baseline: nothing else may change with it.
  ['whitelist +a:1', 'none', { kind: 'allow', pattern: 'b:1' }, 'whitelist +a:1 +b:1'],
  ['allow_all -a:1', 'none', { kind: 'deny', pattern: 'a:1' }, '='],
  ['allow_all', 'allow_all -a:1', { kind: 'deny', pattern: 'a:1' }, '='],
  ['allow_all', 'allow_all -a:1', { kind: 'allow', pattern: 'a:1' }, 'allow_all +a:1'],
  ['allow_all', 'allow_all +a:1', { kind: 'deny', pattern: 'a:1' }, 'allow_all -a:1'],
  // One model, one rule, whatever the spelling.
  [
    'allow_all -qwen3:8b',
    'none',
    { kind: 'allow', pattern: 'library/QWEN3:8B' },
    'allow_all +qwen3:8b',
  ],
  ['allow_all -llama3:latest', 'none', { kind: 'deny', pattern: 'llama3' }, '='],
  ['allow_all', 'allow_all +a:* -a:*', { kind: 'clear', pattern: 'a:*' }, 'allow_all'],
  ['allow_all', 'none', { kind: 'clear', pattern: 'a:*' }, '='],
  ['allow_all', 'none', { kind: 'mode', mode: 'whitelist' }, 'whitelist'],
  ['allow_all', 'none', { kind: 'mode', mode: 'allow_all' }, '='],
  ['allow_all -a:1', 'none', { kind: 'mode', mode: 'whitelist' }, 'whitelist -a:1'],
  ['allow_all', 'none', { kind: 'reset' }, '='],
  ['allow_all', 'allow_all', { kind: 'reset' }, 'none'],
  [
    'allow_all',
    'whitelist +a:1',
    { kind: 'preset', preset: 'allow-all', installed: undefined },
    'allow_all',
  ],
  ['allow_all', 'none', { kind: 'preset', preset: 'block-all', installed: undefined }, 'whitelist'],
  [
    'allow_all',
    'none',
    { kind: 'preset', preset: 'only-installed', installed: ['b:1', 'a:1'] },
    'whitelist +a:1 +b:1',
  ],
  ['allow_all', 'none', { kind: 'preset', preset: 'only-installed', installed: [] }, 'whitelist'],
  // Exact even where it equals the baseline: a later change of the config must not reach it.
  ['allow_all', 'none', { kind: 'set', rules: rules('allow_all') }, 'allow_all'],
  ['allow_all', 'allow_all -a:1 -b:1', { kind: 'set', rules: rules('allow_all -b:1 -a:1') }, '='],
  // The toggle: without an exact rule it inverts, with one it goes back to the broader rule.
  ['allow_all', 'none', { kind: 'toggle', model: qwen }, 'allow_all -qwen3:8b'],
  ['whitelist', 'none', { kind: 'toggle', model: qwen }, 'whitelist +qwen3:8b'],
  ['allow_all -qwen3:*', 'none', { kind: 'toggle', model: qwen }, 'allow_all +qwen3:8b -qwen3:*'],
  ['allow_all', 'allow_all -qwen3:8b', { kind: 'toggle', model: qwen }, 'allow_all'],
  ['allow_all', 'allow_all +qwen3:8b', { kind: 'toggle', model: qwen }, 'allow_all'],
  ['allow_all', 'allow_all +qwen3:8b -qwen3:8b', { kind: 'toggle', model: qwen }, 'allow_all'],
  ['allow_all', 'none', { kind: 'toggle', model: cloud }, 'allow_all +kimi:cloud'],
]

suite('one edit of one worker', () => {
  for (const [baseline, before, edit, after] of TABLE) {
    const { kind, ...what } = edit
    test(`${baseline}, override ${before}: ${kind} ${JSON.stringify(what)}`, () => {
      const override = before === 'none' ? undefined : rules(before)
      const edited = editPlacement(override, rules(baseline), edit)
      assert.ok(edited.ok)
      assert.equal(edited.changed, after !== '=')
      assert.equal(text(edited.override), after === '=' ? before : after)
    })
  }

  test('a toggle that leaves the verdict as it is says why, and the next one inverts', () => {
    const first = editPlacement(rules('allow_all +qwen3:8b'), rules('allow_all'), {
      kind: 'toggle',
      model: qwen,
    })
    assert.ok(first.ok)
    assert.match(first.said, /still allowed by placement mode allow_all, toggle again/)
    const second = editPlacement(first.override, rules('allow_all'), {
      kind: 'toggle',
      model: qwen,
    })
    assert.ok(second.ok)
    assert.equal(text(second.override), 'allow_all -qwen3:8b')
  })

  for (const pattern of ['a*b', '*a', '', ' ', 'a:*:*', '/*']) {
    test(`"${pattern}" is no pattern`, () => {
      assert.equal(
        editPlacement(undefined, rules('allow_all'), { kind: 'deny', pattern }).ok,
        false,
      )
    })
  }

  test('only-installed is refused while the inventory is unknown', () => {
    const edit: Edit = { kind: 'preset', preset: 'only-installed', installed: undefined }
    const edited = editPlacement(undefined, rules('allow_all'), edit)
    assert.ok(!edited.ok && edited.reason.includes('never read'))
  })

  test('normal rules are sorted, each once, and odd names survive', () => {
    const odd = rules('allow_all +constructor:1 +__proto__:x +QWEN2.5:7b +qwen2.5:7b -b:1 -a:1')
    assert.equal(
      text(normalRules(odd)),
      'allow_all +__proto__:x +constructor:1 +qwen2.5:7b -a:1 -b:1',
    )
    assert.ok(sameRules(odd, normalRules(odd)))
  })
})

suite('impact', () => {
  const models = [
    { name: 'a:1', key: 'a:1', cloud: false },
    { name: 'b:1', key: 'b:1', cloud: false },
  ]
  type Has = Record<string, 'loaded' | 'installed' | 'unknown'>
  const worker = (name: string, before: string, after: string, has: Has) => {
    const compiled = compilePlacement(rules(before))
    return {
      name,
      before: compiled,
      after: before === after ? compiled : compilePlacement(rules(after)),
      presence: (key: string) => has[key] ?? 'absent',
    }
  }
  const demand = new Map([
    ['a:1', 7],
    ['b:1', 2],
  ])

  test('the last worker that has it and may run it: orphaned, its requests would be refused', () => {
    const w = [worker('w', 'allow_all', 'allow_all -a:1', { 'a:1': 'loaded' })]
    assert.deepEqual(placementImpact(models, w, demand), {
      changes: [{ model: 'a:1', worker: 'w', before: 'loaded', after: 'blocked' }],
      orphaned: ['a:1'],
      refusedLastHour: 7,
    })
  })

  test('another worker that has it and may run it: nothing is lost', () => {
    const w = [
      worker('w', 'allow_all', 'allow_all -a:1', { 'a:1': 'installed' }),
      worker('v', 'allow_all', 'allow_all', { 'a:1': 'installed' }),
    ]
    const impact = placementImpact(models, w, demand)
    assert.deepEqual([impact.orphaned, impact.refusedLastHour], [[], 0])
  })

  test('another that has it and may not, or may and has it not: orphaned', () => {
    const w = [
      worker('w', 'allow_all', 'whitelist', { 'a:1': 'installed' }),
      worker('v', 'allow_all -a:1', 'allow_all -a:1', { 'a:1': 'installed' }),
      worker('u', 'allow_all', 'allow_all', {}),
    ]
    assert.deepEqual(placementImpact(models, w, demand).orphaned, ['a:1'])
  })

  test('what was out of reach before is not this edit’s doing', () => {
    const w = [worker('w', 'allow_all -a:1', 'whitelist -a:1', { 'a:1': 'installed' })]
    assert.deepEqual(placementImpact(models, w, demand).orphaned, [])
  })

  test('a worker that may have it for all that is known still takes its requests', () => {
    const w = [
      worker('w', 'allow_all', 'allow_all -a:1', { 'a:1': 'installed' }),
      worker('v', 'allow_all', 'allow_all', { 'a:1': 'unknown' }),
    ]
    const impact = placementImpact(models, w, demand)
    assert.deepEqual([impact.orphaned, impact.refusedLastHour], [['a:1'], 0])
  })

  test('a rule that changes no cell changes nothing', () => {
    const w = [worker('w', 'allow_all', 'allow_all +a:1', { 'a:1': 'loaded' })]
    assert.deepEqual(placementImpact(models, w, demand).changes, [])
  })
})
