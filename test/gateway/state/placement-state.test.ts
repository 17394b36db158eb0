import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import type { PlacementRules } from '../../../src/gateway/policy/placement.ts'
import { StartError } from '../../../src/gateway/start-error.ts'
import type { Disk } from '../../../src/gateway/state/disk.ts'
import { NotSaved } from '../../../src/gateway/state/document.ts'
import { PlacementState } from '../../../src/gateway/state/placement-state.ts'
import { WorkersState } from '../../../src/gateway/state/workers-state.ts'
import { CALLS_OF_A_WRITE, diskError, watchedDisk } from '../../support/faulty-disk.ts'
import { manualClock } from '../../support/manual-clock.ts'

let dir: string
beforeEach(() => void (dir = mkdtempSync(path.join(tmpdir(), 'ogw-placement-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const document = (): string => path.join(dir, 'placement.json')
const history = (): string => path.join(dir, 'history.jsonl')

const BASE: PlacementRules = { mode: 'allow_all', allowed_models: [], denied_models: [] }
const denies = (...models: string[]): PlacementRules => ({ ...BASE, denied_models: models })

function open(workers = ['w', 'v'], disk?: Disk) {
  const placed = new Map<string, string>()
  const told: string[] = []
  const state = new PlacementState(
    { document: document(), history: history() },
    {
      clock: manualClock(),
      baselines: () => new Map(workers.map((name) => [name, BASE])),
      place: (worker, { rules }, layer) =>
        void placed.set(worker, `${layer} ${rules.denied_models.join(',')}`),
      ...(disk !== undefined && { disk }),
      onHistoryTrouble: (problem) => void told.push(problem),
    },
  )
  state.placeAll()
  const edit = (overrides: Record<string, PlacementRules | undefined>, operation = 'op') =>
    state.edit('anna', () => ({ overrides: new Map(Object.entries(overrides)), operation }))
  return { state, placed, edit, told }
}

test('an edit of several workers is one revision, one history entry, and in force at once', async () => {
  const { state, placed, edit } = open()
  const { entry } = await edit({ w: denies('a:1'), v: denies('b:1') })
  assert.equal(entry?.id, 1)
  assert.equal(state.revision, 1)
  assert.deepEqual(state.history(), [
    {
      id: 1,
      at: '2026-11-30T00:00:00.000Z',
      actor: 'anna',
      operation: 'op',
      before: [
        { worker: 'v', rules: null },
        { worker: 'w', rules: null },
      ],
      after: [
        { worker: 'v', rules: denies('b:1') },
        { worker: 'w', rules: denies('a:1') },
      ],
      undoes: null,
    },
  ])
  assert.deepEqual(Object.fromEntries(placed), { w: 'override a:1', v: 'override b:1' })
})

test('a restart brings back overrides, history and revision; a reset brings back the config', async () => {
  await open().edit({ w: denies('a:1') })
  const { state, placed, edit } = open()
  assert.deepEqual(Object.fromEntries(placed), { w: 'override a:1' })
  assert.equal(state.revision, 1)
  assert.equal(state.history().length, 1)
  await edit({ w: undefined })
  assert.equal(placed.get('w'), 'config ')
  assert.deepEqual(open().state.overrides(), [])
})

test('an override of a worker that is gone is kept, and holds again when the worker is back', async () => {
  await open().edit({ w: denies('a:1') })
  const without = open(['v'])
  await without.edit({ v: denies('b:1') })
  assert.deepEqual(
    without.state.overrides().map(([worker]) => worker),
    ['v', 'w'],
  )
  assert.equal(without.placed.has('w'), false)
  assert.equal(open().placed.get('w'), 'override a:1')
})

// B154: a dot is part of a name, and `__proto__` is one.
test('names that are paths or prototypes elsewhere come back as they are', async () => {
  const names = ['gpu.lan', '__proto__', 'constructor', 'рабочий-1']
  const models = ['__proto__:x', 'a.b:1.5b', 'constructor:latest']
  for (const name of names) {
    await open(names).state.edit('anna', () => ({
      overrides: new Map([[name, denies(...models)]]),
      operation: 'op',
    }))
  }
  const { state } = open(names)
  assert.deepEqual(
    state.overrides().map(([worker, { denied_models }]) => [worker, denied_models]),
    names.toSorted().map((name) => [name, models]),
  )
})

test('edits at the same time see each other', async () => {
  const { state } = open()
  const add = (model: string) =>
    state.edit('anna', () => {
      const before = state.override('w')?.denied_models ?? []
      return { overrides: new Map([['w', denies(...before, model)]]), operation: model }
    })
  await Promise.all(['a:1', 'b:1', 'c:1'].map(add))
  assert.deepEqual(state.override('w')?.denied_models, ['a:1', 'b:1', 'c:1'])
  assert.equal(state.revision, 3)
})

test('a decision that throws changes nothing and does not stop the next edit', async () => {
  const { state, edit } = open()
  await assert.rejects(
    state.edit('anna', () => {
      throw new Error('refused')
    }),
    /refused/,
  )
  await edit({ w: denies('a:1') })
  assert.equal(state.revision, 1)
})

suite('a disk that fails', () => {
  for (const call of CALLS_OF_A_WRITE.slice(0, -1)) {
    // The history line is on disk before the document is: it must not come back as an edit.
    test(`${call}: no edit in memory, in force, or after a restart; the next one works`, async () => {
      let failing = true
      const disk = watchedDisk((called) => {
        if (failing && called === call) throw diskError('ENOSPC')
      })
      const { state, placed, edit } = open(['w', 'v'], disk)
      await assert.rejects(edit({ w: denies('a:1') }, 'failed'), NotSaved)
      assert.deepEqual([state.revision, state.history().length, placed.size], [0, 0, 0])
      assert.deepEqual(state.overrides(), [])
      assert.match(state.error ?? '', /disk is full/)
      assert.deepEqual(open().state.history(), [])

      failing = false
      await edit({ w: denies('b:1') }, 'good')
      const after = open()
      assert.deepEqual(
        after.state.history().map(({ id, operation }) => [id, operation]),
        [[1, 'good']],
      )
      assert.equal(after.placed.get('w'), 'override b:1')
    })
  }
})

test('a history that ends within a line loses that line alone', async () => {
  await open().edit({ w: denies('a:1') }, 'first')
  appendFileSync(history(), '{"id":2,"at":"2026')
  const { edit, state, told } = open()
  assert.equal(state.history().length, 1)
  await edit({ w: denies('b:1') }, 'second')
  const again = open()
  assert.deepEqual(
    again.state.history().map(({ operation }) => operation),
    ['first', 'second'],
  )
  assert.deepEqual([...told, ...again.told], [], 'its edit did not happen, so nothing is missing')
})

const entryLine = (id: number): string =>
  JSON.stringify({
    id,
    at: '',
    actor: 'a',
    operation: `op-${id}`,
    before: [],
    after: [],
    undoes: null,
  })

const writeState = (revision: number, lines: readonly string[]): void => {
  writeFileSync(document(), JSON.stringify({ version: 1, revision, overrides: [] }))
  writeFileSync(history(), lines.map((line) => `${line}\n`).join(''))
}

const missing: [name: string, lines: string[], told: string][] = [
  ['in the middle', [entryLine(1), entryLine(2).replace('}', ''), entryLine(3)], 'line 2 '],
  ['at the end', [entryLine(1), entryLine(2), entryLine(3).slice(0, 20)], 'line 3 '],
  ['at the top', ['', '#', entryLine(2), entryLine(3)], 'line 2 '],
  ['that is JSON and no edit', [entryLine(1), entryLine(2), '{"id":3}', entryLine(3)], 'line 3 '],
  ['of many', [...Array.from({ length: 12 }, () => 'x'), entryLine(3)], '9, 10 and 2 more '],
]
for (const [name, lines, words] of missing) {
  test(`a broken line ${name} is told with its number, and costs nothing else`, () => {
    writeState(3, lines)
    const { state, told } = open()
    assert.equal(told.length, 1)
    const problem = told[0] ?? ''
    assert.ok(problem.startsWith(`${history()}: line`) && problem.includes(words), problem)
    assert.equal(state.historyTrouble, problem)
    assert.equal(state.history().length, lines.filter((line) => /undoes.*\}$/.test(line)).length)
  })
}

test('a broken line is set aside, and said, before the history is written anew', async () => {
  const lines = Array.from({ length: 2_000 }, (_, index) => entryLine(index + 1))
  lines[1_500] = 'somebody typed here'
  writeState(2_000, lines)
  const { state, edit, told } = open()
  await edit({ w: denies('a:1') })
  assert.equal(readFileSync(`${history()}.broken`, 'utf8'), 'somebody typed here\n')
  assert.equal(readFileSync(history(), 'utf8').includes('somebody'), false)
  assert.match(told[1] ?? '', /1 line that cannot be read is in .*\.broken$/)
  assert.equal(state.historyTrouble, undefined)
  assert.deepEqual(open().told, [])
})

test('the history keeps the newest 1,000 edits, and its file is bounded', async () => {
  const line = (id: number): string =>
    `${JSON.stringify({ id, at: '', actor: 'a', operation: `op-${id}`, before: [], after: [], undoes: null })}\n`
  writeFileSync(history(), Array.from({ length: 2_000 }, (_, index) => line(index + 1)).join(''))
  writeFileSync(document(), JSON.stringify({ version: 1, revision: 2_000, overrides: [] }))
  const { edit, state } = open()
  assert.deepEqual([state.history().length, state.history()[0]?.id], [1_000, 1_001])
  await edit({ w: denies('a:1') })
  assert.deepEqual([state.history().length, state.history().at(-1)?.id], [1_000, 2_001])
  assert.equal(readFileSync(history(), 'utf8').trimEnd().split('\n').length, 1_001)
  assert.equal(open().state.history().length, 1_000)
})

suite('a broken overrides file stops the start and is never read as "allow all"', () => {
  const broken: [string, string][] = [
    ['half-written', '{"version":1,"revision":3,"over'],
    ['empty', ''],
    ['of another shape', '{"version":1,"revision":3,"overrides":{"w":{"mode":"allow_all"}}}'],
    [
      'with a pattern that means nothing',
      '{"version":1,"revision":3,"overrides":[{"worker":"w","mode":"allow_all","allowed_models":[],"denied_models":["a*b"]}]}',
    ],
  ]
  for (const [name, text] of broken) {
    test(name, () => {
      writeFileSync(document(), text)
      assert.throws(open, (error) => {
        assert.ok(error instanceof StartError && error.exitCode === 78)
        assert.ok(error.message.includes(document()))
        assert.match(error.message, /move it away to start with the placement of the config alone/)
        return true
      })
      assert.equal(readFileSync(document(), 'utf8'), text)
    })
  }
})

suite('drains', () => {
  const openDrains = () => {
    const told: string[] = []
    const state = new WorkersState(path.join(dir, 'workers.json'), {
      clock: manualClock(),
      drain: (worker, draining) => void told.push(`${worker} ${draining}`),
    })
    state.drainAll()
    return { state, told }
  }
  const change = { actor: 'anna', check: () => {} }

  test('kept over a restart, told once, ended by resume', async () => {
    const first = openDrains()
    assert.deepEqual(await first.state.change(['w', 'v'], { ...change, draining: true }), [
      'w',
      'v',
    ])
    assert.deepEqual(await first.state.change(['w'], { ...change, draining: true }), [])
    assert.deepEqual(first.told, ['w true', 'v true'])

    const second = openDrains()
    assert.deepEqual(second.told, ['w true', 'v true'])
    assert.equal(second.state.draining('w')?.actor, 'anna')
    assert.deepEqual(await second.state.change(['w'], { ...change, draining: false }), ['w'])
    assert.deepEqual(openDrains().told, ['v true'])
  })

  test('nothing is written before somebody drains', () => {
    openDrains()
    assert.equal(existsSync(path.join(dir, 'workers.json')), false)
  })
})
