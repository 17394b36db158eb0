// Whatever a stranger calls a model: no row is wider or narrower than the terminal, nothing of it
// reaches the terminal raw, and --ascii is nothing but ASCII.

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Snapshot } from '../../src/gateway/contract/schema/snapshot.ts'
import { type FormOverlay, limitField, textField } from '../../src/tui/form.ts'
import { isTooSmall } from '../../src/tui/layout.ts'
import { fit, width } from '../../src/tui/present/text.ts'
import { matrixCell } from '../../src/tui/screens/matrix-cell.ts'
import { INITIAL_UI, SCREENS, type UiState } from '../../src/tui/state.ts'
import { framed, type FrameAsk } from '../support/frames.ts'
import { largeFleet, seeded } from '../support/large-fleet.ts'
import { tenantUse } from '../support/tenant-fixture.ts'

const PIECES = [
  '模型',
  'アルファ',
  '🦙🚀',
  '👩‍👩‍👧',
  'e\u0301',
  '\u202e',
  '\u001b]52;c;ZXZpbA==\u0007',
  '\u001b[2J',
  '\u009b31m',
  'рабочий',
  '⛔',
  '⚠\ufe0f',
  '\u200b',
  'qwen3',
  ':8b',
  '/',
  '한국어',
  'ﷺ',
  '\ud800',
  '\u0000',
  '\t',
  'a'.repeat(60),
]

function evilName(random: () => number): string {
  const pieces = Array.from(
    { length: 1 + Math.floor(random() * 4) },
    () => PIECES[Math.floor(random() * PIECES.length)],
  )
  return pieces.join('')
}

/** As if somebody had typed and pasted all of it. */
function evilForm(): FormOverlay {
  return {
    kind: 'form',
    title: 'policy of 模型',
    lines: [],
    fields: [
      textField(['text', '模型'.repeat(9)], PIECES.join(''), '한국어'.repeat(40)),
      limitField(['off', 'off'], 0, { unit: 'tokens', hint: '' }),
      limitField(['on', 'on'], 1e15, { unit: 'tokens', hint: '' }),
      textField(['end', 'end'], '🦙🚀'.repeat(60), ''),
    ],
    focus: 0,
    yes: 'Apply',
    problem: PIECES.join(' '),
    busy: false,
    openedMono: 0,
    onSubmit() {},
  }
}

/** The fleet with every foreign text replaced. */
function evilFleet(seed: number): Snapshot {
  const random = seeded(seed)
  const name = (): string => evilName(random)
  const fleet = largeFleet({ workers: 1 + Math.floor(random() * 14), models: 20 })
  const workers = fleet.workers.map((row) => ({
    ...row,
    name: `${name()}${row.index}`,
    why: name(),
    version: name(),
    error: row.error && name(),
    address: name(),
  }))
  return {
    ...fleet,
    gateway: { ...fleet.gateway, host: name(), version: name() },
    workers,
    models: fleet.models.map((row) => {
      const model = `${name()}${row.model}`
      const cells = row.cells.map((cell, index) => ({ ...cell, worker: workers[index]!.name }))
      return { ...row, model, family: name(), parameters: name(), quantization: name(), cells }
    }),
    requests: fleet.requests.map((row) => ({
      ...row,
      model: name(),
      tenant: name(),
      actor: name(),
      reason: name(),
      dialect: name(),
      path: name(),
    })),
    tenants: fleet.tenants?.map((row) => ({
      ...row,
      name: `${name()}${row.name}`,
      models: { ...row.models, allowed: [name(), name()], denied: [name()] },
      set_at_run_time: [name()],
      credits: random() < 0.5 ? 0 : Math.floor(random() * 1e15),
      weight: random() < 0.5 ? 0.012_345 : 123_456.789,
    })),
    events: fleet.events.map((row) => ({
      ...row,
      object: name(),
      detail: name(),
      actor: name(),
      event: name(),
    })),
  }
}

const SIZES = [
  { columns: 60, rows: 16 },
  { columns: 80, rows: 24 },
  { columns: 97, rows: 31 },
  { columns: 120, rows: 36 },
  { columns: 211, rows: 60 },
]
const THEMES = [
  { color: true, ascii: false },
  { color: false, ascii: false },
  { color: true, ascii: true },
]

const rules = {
  mode: 'allow_all' as const,
  allowed_models: ['模型:*'],
  denied_models: ['qwen3:8b'],
}
const UIS: readonly Partial<UiState>[] = [
  {},
  { cardView: 'cards', expanded: true, pane: 'audit' },
  { overlays: [{ kind: 'help', top: 0, filter: '' }] },
  {
    draft: {
      worker: 'x',
      rules,
      before: { ...rules, denied_models: [] },
      revision: 1,
      index: 0,
      plan: undefined,
      problem: undefined,
    },
  },
  ...[0, 1, 2, 3].map((focus) => ({ overlays: [{ ...evilForm(), focus }] })),
  {
    overlays: [
      { kind: 'secret', title: '模型', secret: 'ogw_'.repeat(30), lines: [], openedMono: 0 },
    ],
  },
  { matrix: { ...INITIAL_UI.matrix, density: 'compact', columnIndex: 3 } },
  { matrix: { ...INITIAL_UI.matrix, density: 'words', columnIndex: 9 } },
]

/** The actors and keys of the first tenant, under names as strange as its own. */
function tenantUis({ tenants = [] }: Snapshot): Partial<UiState>[] {
  const random = seeded(tenants.length)
  const told = tenantUse(tenants[0]?.name ?? '')
  const use = {
    ...told,
    actors: told.actors.map((row) => ({ ...row, actor: evilName(random) })),
    keys: told.keys.map((row) => ({ ...row, id: evilName(random), created_by: evilName(random) })),
  }
  return (['actors', 'keys'] as const).map((pane) => ({
    tenants: { ...INITIAL_UI.tenants, use, pane, focus: pane },
  }))
}

// oxlint-disable-next-line no-control-regex -- the console's own styles are taken out
const SGR = /\u001b\[[\d;]*m/g
// oxlint-disable-next-line no-control-regex -- what must not be there
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

for (const size of SIZES) {
  suite(`rows at ${size.columns}x${size.rows}`, () => {
    for (const screen of SCREENS) {
      test(screen, () => {
        for (let seed = 1; seed <= 4; seed += 1) {
          const snapshot = evilFleet(seed)
          for (const ui of [...UIS, ...tenantUis(snapshot)])
            for (const theme of THEMES) check({ snapshot, screen, ui, theme, ...size })
        }
      })
    }
  })
}

function check(ask: FrameAsk): void {
  const lines = framed(ask)
  assert.equal(lines.length, ask.rows, 'a frame is exactly as high as the terminal')
  for (const line of lines) {
    const text = line.replaceAll(SGR, '')
    assert.doesNotMatch(text, CONTROL)
    assert.equal(width(text), ask.columns, JSON.stringify(text))
    if (ask.theme?.ascii === true) assert.match(text, /^[ -~]*$/)
    // oxlint-disable-next-line no-control-regex -- as above
    if (ask.theme?.color === false) assert.doesNotMatch(line, /\u001b\[(?:[\d;]*;)?[349]\d/)
  }
}

test('a terminal that is too small is told so, in the room there is', () => {
  for (const [columns, rows] of [
    [59, 24],
    [80, 15],
    [20, 5],
    [1, 1],
  ] as const) {
    assert.ok(isTooSmall(columns, rows))
    const lines = framed({ snapshot: largeFleet({ workers: 3, models: 5 }), columns, rows })
    assert.equal(lines.length, rows)
    for (const line of lines) assert.equal(width(line), columns)
  }
})

test('a cell in words that is too long loses letters of its state, never its flag or its count', () => {
  const cell = { worker: 'a', state: 'installed', exact: true, presence: 'installed' } as const
  const look = { cell: { ...cell, down: false }, running: 2, pending: false }
  const inRoom = (room: number): string =>
    fit(matrixCell(look, { density: 'words' }, room).text, room).trimEnd()
  assert.equal(inRoom(16), '✓ installed 2▶ ↳')
  assert.equal(inRoom(12), '✓2↳ install…')
})
