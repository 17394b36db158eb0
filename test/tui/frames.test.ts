// What people see, at the two sizes that the screens are made for: compared with frames that were
// read by eye once.

import path from 'node:path'
import { suite, test } from 'node:test'
import { framed, type FrameAsk, frameText } from '../support/frames.ts'
import { largeFleet } from '../support/large-fleet.ts'
import { tenantUse } from '../support/tenant-fixture.ts'
import { type FormOverlay, limitField, textField } from '../../src/tui/form.ts'
import { INITIAL_UI, SCREENS, type UiState } from '../../src/tui/state.ts'
import { lineOf } from '../../src/tui/theme.ts'
import { ROOT } from '../support/write-docs.ts'

const GOLDEN = path.join(ROOT, 'test', 'golden', 'tui')
const SIZES = [
  { columns: 80, rows: 24 },
  { columns: 120, rows: 36 },
] as const

const fleet = largeFleet({ workers: 12, models: 24 })
const matrix = INITIAL_UI.matrix
const on = (row: string): Partial<UiState> => ({
  screens: { ...INITIAL_UI.screens, placement: { ...INITIAL_UI.screens.placement, row } },
})
const rules = {
  mode: 'allow_all' as const,
  allowed_models: ['gemma4:latest'],
  denied_models: ['gemma4:*', 'phi4:*'],
}

const tenants = INITIAL_UI.tenants
const research = { row: 'research', index: 5 }
const onTenant: Partial<UiState> = {
  screens: { ...INITIAL_UI.screens, tenants: { ...INITIAL_UI.screens.tenants, ...research } },
  tenants: { ...tenants, use: tenantUse('research') },
}
const policy: FormOverlay = {
  kind: 'form',
  title: 'policy of research',
  lines: [],
  fields: [
    textField(['weight', 'weight'], '2', 'share of the fleet while tenants compete'),
    limitField(['credits', 'credits'], 0, { unit: 'tokens', hint: 'Space ticks and unticks' }),
    limitField(['actor_credits', 'of each actor'], 2_000_000, { unit: 'tokens', hint: '' }),
    { kind: 'choice', id: 'priority', label: 'priority', hint: '', options: ['a', 'b'], at: 0 },
  ],
  focus: 1,
  yes: 'Apply',
  problem: '',
  busy: false,
  openedMono: 0,
  onSubmit() {},
}
const { access: _access, tenants: _tenants, ...olderFleet } = fleet

const SCENES: Readonly<Record<string, Omit<FrameAsk, 'columns' | 'rows'>>> = {
  ...Object.fromEntries(SCREENS.map((screen) => [screen, { snapshot: fleet, screen }])),
  'placement-cursor': {
    snapshot: fleet,
    ui: { ...on('qwen3:8b'), matrix: { ...matrix, column: 'node-2' } },
  },
  'placement-1-worker': { snapshot: largeFleet({ workers: 1, models: 12 }) },
  'placement-40-workers-300-models': {
    snapshot: largeFleet({ workers: 40, models: 300 }),
    ui: {
      ...on('qwen3:8b'),
      matrix: { ...matrix, column: 'node-31', foldAll: true, folds: new Map([['qwen3:*', false]]) },
    },
  },
  'placement-empty': { snapshot: largeFleet({ workers: 0, models: 0 }) },
  'placement-no-model': { snapshot: largeFleet({ workers: 3, models: 0 }) },
  'placement-filter': {
    snapshot: fleet,
    ui: {
      screens: {
        ...INITIAL_UI.screens,
        placement: { ...INITIAL_UI.screens.placement, filter: 'qwen !vl' },
      },
    },
  },
  'workers-cards': { snapshot: fleet, screen: 'workers', ui: { cardView: 'cards' } },
  'events-expanded': { snapshot: fleet, screen: 'events', ui: { expanded: true } },
  ruleset: {
    snapshot: fleet,
    screen: 'workers',
    ui: {
      draft: {
        worker: 'node-2',
        rules: { ...rules, allowed_models: ['gemma4:latest', 'orcarouter/*'] },
        before: rules,
        revision: 41,
        index: 2,
        plan: undefined,
        problem: undefined,
      },
    },
  },
  'tenants-use': { snapshot: fleet, screen: 'tenants', ui: onTenant },
  'tenants-keys': {
    snapshot: fleet,
    screen: 'tenants',
    ui: {
      ...onTenant,
      tenants: { ...tenants, use: tenantUse('research'), focus: 'keys', pane: 'keys' },
    },
  },
  'tenants-ascii': { snapshot: fleet, screen: 'tenants', ui: onTenant, theme: { ascii: true } },
  'tenants-policy': { snapshot: fleet, screen: 'tenants', ui: { ...onTenant, overlays: [policy] } },
  'tenants-older-gateway': { snapshot: olderFleet, screen: 'tenants' },
  help: { snapshot: fleet, ui: { overlays: [{ kind: 'help', top: 0, filter: '' }] } },
  confirm: {
    snapshot: fleet,
    ui: {
      overlays: [
        {
          kind: 'confirm',
          title: 'deny qwen3:32b on node-3?',
          lines: [
            lineOf('After this, no worker that has qwen3:32b may run it.'),
            lineOf('1 cell would change. Running requests finish.'),
          ],
          yes: 'deny anyway',
          focus: 'cancel',
          openedMono: 0,
          onYes() {},
        },
      ],
    },
  },
  message: {
    snapshot: fleet,
    ui: {
      message: {
        tone: 'done',
        at: Date.parse('2026-05-01T11:59:58Z'),
        text: 'denied qwen3:8b on node-2 · rev 42 · u undo · $ ogw placement deny qwen3:8b node-2',
        sticky: false,
        since: 0,
      },
    },
  },
  lost: {
    snapshot: fleet,
    feed: {
      link: {
        kind: 'lost',
        since: 36_000,
        reason: 'refused',
        message: 'no gateway answers',
        attempt: 3,
        retryAt: 54_000,
      },
    },
  },
  'no-gateway': {
    snapshot: undefined,
    feed: {
      link: {
        kind: 'lost',
        since: 36_000,
        reason: 'missing',
        message:
          'no gateway answers; tried /run/ogw/admin.sock (no such socket). Start one with `ogw serve`, or name its socket with --socket or OGW_SOCKET',
        attempt: 4,
        retryAt: 52_000,
      },
    },
  },
  ascii: { snapshot: fleet, theme: { ascii: true } },
}

for (const { columns, rows } of SIZES) {
  suite(`frames at ${columns}x${rows}`, () => {
    for (const [name, scene] of Object.entries(SCENES)) {
      test(name, (t) => {
        t.assert.fileSnapshot(
          frameText({ ...scene, columns, rows }),
          path.join(GOLDEN, `${name}.${columns}x${rows}.txt`),
          { serializers: [String] },
        )
      })
    }
  })
}

test('colours and attributes of the matrix', (t) => {
  const scene = { ...SCENES['placement-cursor']!, theme: { color: true } }
  t.assert.fileSnapshot(
    `${framed(scene).join('\n').replaceAll('\u001b', '^')}\n`,
    path.join(GOLDEN, 'placement-cursor.color.txt'),
    { serializers: [String] },
  )
})
