import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { suite, test } from 'node:test'
import type { AdminClient } from '../../../src/gateway/contract/client.ts'
import { AdminError } from '../../../src/gateway/contract/faults.ts'
import { configText, startAdminRig, TWO_WORKERS } from '../../support/admin-rig.ts'
import { aRecord } from '../../support/request-records.ts'
import { diskError, watchedDisk } from '../../support/faulty-disk.ts'

const fails = (code: string, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AdminError, String(error))
  assert.equal(error.code, code)
  assert.match(error.message, text)
  return true
}

/** The matrix as one letter a cell: l, i, a, b, ? and ! for an exact rule. */
async function matrix(client: AdminClient): Promise<Record<string, string>> {
  const rows = await client.call('placement.show', {})
  return Object.fromEntries(
    rows.map(({ model, cells }) => [
      model,
      cells
        .map(({ state, exact }) => (state === 'unknown' ? '?' : state[0]) + (exact ? '!' : ''))
        .join(' '),
    ]),
  )
}

const node2 = { pattern: 'qwen3:8b', workers: ['node-2'] }

test('the matrix: one row a discovered model, one column a worker, the seed’s states', async () => {
  await using rig = await startAdminRig({
    workers: [
      ...TWO_WORKERS,
      { name: 'node-3' },
      {
        name: 'node-4',
        installed: ['qwen3:8b'],
        placement: { allowed_models: ['gemma4:latest'], denied_models: ['gemma4:*', 'qwen3:*'] },
      },
    ],
  })
  assert.deepEqual(await matrix(rig.client), {
    'gemma4:12b': 'i a ? b',
    'gemma4:latest': 'a i ? a!',
    'qwen3:8b': 'l i ? b',
  })
  const [only] = await rig.client.call('placement.show', { model: 'QWEN3:8b', worker: 'node-2' })
  assert.deepEqual(only, {
    model: 'qwen3:8b',
    cells: [
      { worker: 'node-2', state: 'installed', exact: false, presence: 'installed', down: false },
    ],
  })
})

test('a worker that is down keeps its cells, marked', async () => {
  await using rig = await startAdminRig()
  rig.fleet.apply({
    type: 'round_ended',
    worker: 'node-2',
    answered: undefined,
    error: 'timeout',
    periodic: false,
  })
  const [row] = await rig.client.call('placement.show', { model: 'qwen3:8b' })
  assert.deepEqual(
    row?.cells.map(({ state, down }) => [state, down]),
    [
      ['loaded', false],
      ['installed', true],
    ],
  )
})

test('deny, then allow: each removes its opposite, is idempotent and in force at once', async () => {
  await using rig = await startAdminRig()
  const denied = await rig.client.call('placement.deny', node2)
  assert.equal(denied.message, 'denied qwen3:8b on node-2')
  assert.deepEqual(denied.changes, [
    { model: 'qwen3:8b', worker: 'node-2', before: 'installed', after: 'blocked' },
  ])
  assert.equal(rig.fleet.worker('node-2')?.placement.exact.get('qwen3:8b')?.allowed, false)

  const again = await rig.client.call('placement.deny', node2)
  assert.deepEqual([again.changed, again.id, again.revision], [false, null, 1])
  assert.equal(again.message, 'no change: denied qwen3:8b already on node-2')

  const allowed = await rig.client.call('placement.allow', node2)
  assert.deepEqual(allowed.workers, [
    {
      worker: 'node-2',
      mode: 'allow_all',
      allowed_models: ['qwen3:8b'],
      denied_models: [],
      layer: 'override',
    },
  ])
  assert.equal((await rig.client.call('placement.history', {})).length, 2)
})

test('an edit that changes nothing says what holds already', async () => {
  await using rig = await startAdminRig()
  const { client } = rig
  const workers = ['node-2']
  const cleared = await client.call('placement.clear', { pattern: 'qwen3:*', workers })
  assert.equal(cleared.message, 'no change: qwen3:* has no rule on node-2')
  const reset = await client.call('placement.reset', { workers })
  assert.equal(reset.message, 'no change: the config holds already on node-2')
  const mode = await client.call('placement.mode', { workers, mode: 'allow_all' })
  assert.equal(mode.message, 'no change: mode allow_all already on node-2')
  assert.equal((await client.call('placement.history', {})).length, 0)
})

test('a restart keeps the override, and reset brings back the config’s rules at once', async () => {
  const first = await startAdminRig()
  await first.client.call('placement.deny', node2)
  await first.stop()
  await using rig = await startAdminRig({ dir: first.dir })
  assert.equal((await matrix(rig.client))['qwen3:8b'], 'l b!')
  await rig.client.call('placement.reset', { workers: ['node-2'] })
  assert.equal((await matrix(rig.client))['qwen3:8b'], 'l i')
  assert.deepEqual(await rig.client.call('placement.export', {}), { version: 1, overrides: [] })
})

test('why: the verdict, the rule, the layer, and the rules that lost', async () => {
  await using rig = await startAdminRig({
    workers: [{ name: 'node-1', placement: { denied_models: ['qwen3:*', '*'] } }],
  })
  await rig.client.call('placement.allow', { pattern: 'qwen3:8b', workers: ['node-1'] })
  assert.deepEqual(
    await rig.client.call('placement.why', { model: 'library/qwen3:8b', worker: 'node-1' }),
    [
      {
        model: 'qwen3:8b',
        worker: 'node-1',
        allowed: true,
        decided_by: { kind: 'exact', pattern: 'qwen3:8b' },
        layer: 'override',
        competing: [
          { pattern: 'qwen3:*', verdict: 'deny' },
          { pattern: '*', verdict: 'deny' },
        ],
      },
    ],
  )
})

suite('dry run', () => {
  test('says cells, orphans and refused requests, and changes nothing', async () => {
    await using rig = await startAdminRig()
    for (let n = 0; n < 3; n += 1) rig.book.done(aRecord(`r${n}`, 'gemma4:12b'))
    const before = await matrix(rig.client)
    const plan = await rig.client.call('placement.deny', {
      pattern: 'gemma4:*',
      workers: ['node-1'],
      dry_run: true,
    })
    assert.deepEqual(
      [plan.changed, plan.id, plan.revision, plan.orphaned, plan.refused_last_hour],
      [true, null, 0, ['gemma4:12b'], 3],
    )
    assert.deepEqual(
      plan.changes.map(({ model, after }) => [model, after]),
      [
        ['gemma4:12b', 'blocked'],
        ['gemma4:latest', 'blocked'],
      ],
    )
    assert.deepEqual(await matrix(rig.client), before)
    assert.deepEqual(await rig.client.call('placement.history', {}), [])
    assert.deepEqual(await rig.client.call('audit.list', {}), [], 'nothing happened')
  })

  test('export into apply is no change', async () => {
    await using rig = await startAdminRig()
    await rig.client.call('placement.deny', node2)
    const document = await rig.client.call('placement.export', {})
    const plan = await rig.client.call('placement.apply', { document, dry_run: true })
    assert.deepEqual([plan.changed, plan.message, plan.changes], [false, 'no change', []])
    const applied = await rig.client.call('placement.apply', { document })
    assert.equal(applied.changed, false)
  })
})

suite('the guard against orphans', () => {
  const orphaning = { pattern: 'gemma4:12b', workers: ['node-1'] }

  test('refused with the models, done with force', async () => {
    await using rig = await startAdminRig()
    const deny = rig.client.call('placement.deny', orphaning)
    await assert.rejects(deny, fails('refused', /gemma4:12b.*--force/))
    await assert.rejects(deny, ({ details }) => {
      assert.deepEqual(details, { force: true, orphaned: ['gemma4:12b'] })
      return true
    })
    assert.equal((await matrix(rig.client))['gemma4:12b'], 'i a')
    const forced = await rig.client.call('placement.deny', { ...orphaning, force: true })
    assert.deepEqual([forced.changed, forced.orphaned], [true, ['gemma4:12b']])
    // What is out of reach already is not the doing of the next edit.
    const next = await rig.client.call('placement.deny', { ...orphaning, workers: ['node-2'] })
    assert.deepEqual([next.changed, next.orphaned], [true, []])
  })

  test('a worker that is down and drains still has the model', async () => {
    await using rig = await startAdminRig()
    await rig.client.call('workers.drain', { workers: ['node-1'] })
    rig.fleet.apply({
      type: 'round_ended',
      worker: 'node-1',
      answered: undefined,
      error: 'timeout',
      periodic: false,
    })
    await assert.rejects(rig.client.call('placement.deny', orphaning), fails('refused', /gemma4/))
  })

  test('for apply, undo, reset, mode, preset and toggle too', async () => {
    await using rig = await startAdminRig({
      workers: [{ name: 'w', installed: ['a:1'], placement: { mode: 'whitelist' } }],
    })
    const { client } = rig
    const workers = ['w']
    await client.call('placement.allow', { pattern: 'a:1', workers })
    const refused = fails('refused', /a:1/)
    await assert.rejects(client.call('placement.reset', { workers }), refused)
    await assert.rejects(client.call('placement.undo', {}), refused)
    const empty = { version: 1 as const, overrides: [] }
    await assert.rejects(client.call('placement.apply', { document: empty }), refused)
    await assert.rejects(client.call('placement.preset', { workers, preset: 'block-all' }), refused)
    const cells = [{ model: 'a:1', worker: 'w' }]
    await assert.rejects(client.call('placement.toggle', { cells }), refused)
    await client.call('placement.preset', { workers, preset: 'allow-all' })
    await assert.rejects(client.call('placement.mode', { workers, mode: 'whitelist' }), refused)
    assert.equal((await client.call('placement.history', {})).length, 2)
  })
})

suite('if_revision', () => {
  test('an outdated one is refused with who changed what; nothing happened', async () => {
    await using rig = await startAdminRig()
    await rig.clientOf('ben@pts/7').call('placement.deny', node2)
    const late = rig.client.call('placement.allow', { ...node2, if_revision: 0 })
    await assert.rejects(
      late,
      fails('conflict', /ben@pts\/7 did "deny qwen3:8b node-2" \(edit 1\)/),
    )
    assert.equal((await matrix(rig.client))['qwen3:8b'], 'l b!')
    assert.equal(
      (await rig.client.call('placement.allow', { ...node2, if_revision: 1 })).revision,
      2,
    )
  })

  test('of two that looked at the same, one wins', async () => {
    await using rig = await startAdminRig()
    const edit = (pattern: string) =>
      rig.client.call('placement.deny', { pattern, workers: ['node-2'], if_revision: 0 })
    const results = await Promise.allSettled([edit('x:1'), edit('y:1'), edit('z:1')])
    assert.deepEqual(results.map(({ status }) => status).toSorted(), [
      'fulfilled',
      'rejected',
      'rejected',
    ])
  })

  test('drains have a revision of their own', async () => {
    await using rig = await startAdminRig()
    await rig.clientOf('ben').call('workers.drain', { workers: ['node-2'] })
    await assert.rejects(
      rig.client.call('workers.resume', { workers: ['node-2'], if_revision: 0 }),
      fails('conflict', /ben/),
    )
    const { gateway } = await rig.client.call('snapshot', {})
    const input = { workers: ['node-2'], if_revision: gateway.workers_revision }
    assert.equal((await rig.client.call('workers.resume', input))[0]?.changed, true)
  })
})

suite('undo', () => {
  test('brings back the matrix and the file byte for byte', async () => {
    await using rig = await startAdminRig()
    await rig.client.call('placement.allow', { pattern: 'z:1', workers: ['node-1', 'node-2'] })
    const file = path.join(rig.dir, 'model-placement.json')
    const overridesOf = () => JSON.stringify(JSON.parse(readFileSync(file, 'utf8')).overrides)
    const before = [JSON.stringify(await rig.client.call('placement.show', {})), overridesOf()]
    await rig.client.call('placement.preset', {
      workers: ['node-1', 'node-2'],
      preset: 'only-installed',
    })
    await rig.client.call('placement.undo', {})
    assert.deepEqual(
      [JSON.stringify(await rig.client.call('placement.show', {})), overridesOf()],
      before,
    )
  })

  test('of a first edit removes the override; an undone id and an unknown one say so', async () => {
    await using rig = await startAdminRig()
    await rig.client.call('placement.deny', node2)
    const undone = await rig.client.call('placement.undo', {})
    assert.equal(undone.message, 'undid edit 1 (deny qwen3:8b node-2) on node-2')
    assert.equal(undone.workers[0]?.layer, 'config')
    await assert.rejects(rig.client.call('placement.undo', {}), fails('not_found', /no edit/))
    await assert.rejects(rig.client.call('placement.undo', { id: 1 }), fails('conflict', /undone/))
    await assert.rejects(
      rig.client.call('placement.undo', { id: 9 }),
      fails('not_found', /no edit 9/),
    )
  })

  test('of an id whose worker was edited since is a conflict', async () => {
    await using rig = await startAdminRig()
    await rig.client.call('placement.deny', node2)
    await rig.client.call('placement.deny', { pattern: 'b:1', workers: ['node-2'] })
    await assert.rejects(rig.client.call('placement.undo', { id: 1 }), fails('conflict', /edit 2/))
  })
})

suite('apply', () => {
  test('is exact: a worker that the file lacks is reset, in one history entry', async () => {
    await using rig = await startAdminRig()
    await rig.client.call('placement.deny', { pattern: 'x:1', workers: ['node-1'] })
    const rules = { mode: 'allow_all' as const, allowed_models: [], denied_models: ['y:1', 'b:1'] }
    const document = { version: 1 as const, overrides: [{ worker: 'node-2', ...rules }] }
    await rig.client.call('placement.apply', { document })
    assert.deepEqual(await rig.client.call('placement.export', {}), {
      version: 1,
      overrides: [{ worker: 'node-2', ...rules, denied_models: ['b:1', 'y:1'] }],
    })
    const [entry] = await rig.client.call('placement.history', {})
    assert.deepEqual(
      entry?.after.map(({ worker, rules: after }) => [worker, after === null]),
      [
        ['node-1', true],
        ['node-2', false],
      ],
    )
  })

  const bare = { mode: 'allow_all' as const, allowed_models: [], denied_models: [] }
  const apply = (...workers: string[]) => ({
    document: { version: 1 as const, overrides: workers.map((worker) => ({ worker, ...bare })) },
  })

  test('an unknown worker, a worker twice, a pattern that is none: refused whole', async () => {
    await using rig = await startAdminRig()
    const { client } = rig
    await assert.rejects(
      client.call('placement.apply', apply('node-1', 'nowhere')),
      fails('not_found', /no worker "nowhere"; the config has node-1, node-2/),
    )
    await assert.rejects(
      client.call('placement.apply', apply('node-1', 'node-1')),
      fails('invalid_input', /twice/),
    )
    const document = { ...apply('node-1').document }
    document.overrides[0]!.denied_models = ['a*b'] as never
    await assert.rejects(
      client.call('placement.apply', { document }),
      fails('invalid_input', /a\*b/),
    )
    assert.equal((await client.call('placement.history', {})).length, 0)
  })

  test('an override of a worker that is gone is shown, exported and may be applied', async () => {
    const first = await startAdminRig()
    await first.client.call('placement.deny', node2)
    await first.stop()
    writeFileSync(first.configFile, configText([{ name: 'node-1' }], first.dir))
    await using rig = await startAdminRig({ dir: first.dir, workers: [] })
    const { placement } = await rig.client.call('snapshot', {})
    assert.deepEqual(
      placement.orphans.map(({ worker }) => worker),
      ['node-2'],
    )
    const document = await rig.client.call('placement.export', {})
    const plan = await rig.client.call('placement.apply', { document, dry_run: true })
    assert.equal(plan.message, 'no change')
    await rig.client.call('placement.reset', { workers: ['node-2'] })
    assert.deepEqual((await rig.client.call('placement.export', {})).overrides, [])
  })
})

test('presets: only-installed is refused while the inventory is unknown', async () => {
  await using rig = await startAdminRig({ workers: [...TWO_WORKERS, { name: 'node-3' }] })
  await assert.rejects(
    rig.client.call('placement.preset', { workers: ['node-3'], preset: 'only-installed' }),
    fails('refused', /node-3: its inventory was never read/),
  )
  const input = { workers: ['node-2'], preset: 'only-installed' as const }
  const { workers } = await rig.client.call('placement.preset', input)
  assert.deepEqual(workers[0]?.allowed_models, ['gemma4:latest', 'qwen3:8b'])
})

test('toggle: cells of several workers are one edit', async () => {
  await using rig = await startAdminRig()
  const cells = [
    { model: 'gemma4:latest', worker: 'node-1' },
    { model: 'qwen3:8b', worker: 'node-2' },
  ]
  const { id } = await rig.client.call('placement.toggle', { cells })
  assert.equal(id, 1)
  const { 'gemma4:latest': gemma, 'qwen3:8b': qwen } = await matrix(rig.client)
  assert.deepEqual([gemma, qwen], ['b! i', 'l b!'])
  await rig.client.call('placement.toggle', { cells })
  assert.equal((await matrix(rig.client))['qwen3:8b'], 'l i')
})

test('a disk that fails: refused with the reason, flagged in status, nothing changed', async () => {
  let failing = true
  await using rig = await startAdminRig({
    disk: watchedDisk((call) => {
      if (failing && call === 'rename') throw diskError('EROFS')
    }),
  })
  const before = JSON.stringify(await rig.client.call('placement.show', {}))
  await assert.rejects(
    rig.client.call('placement.deny', node2),
    fails('not_saved', /nothing changed: the file system is read-only/),
  )
  assert.equal(JSON.stringify(await rig.client.call('placement.show', {})), before)
  assert.match((await rig.client.call('status', {})).problems.join(), /read-only/)
  const storage = await rig.client.call('storage.list', {})
  const file = storage.find(({ name }) => name === 'model_placement_file')
  assert.match(file?.error ?? '', /read-only/)
  failing = false
  await rig.client.call('placement.deny', node2)
  assert.deepEqual((await rig.client.call('status', {})).problems, [])
  assert.deepEqual(rig.bugs, [])
})

test('every change is audited and told as an event, refusals are audited', async () => {
  await using rig = await startAdminRig()
  await rig.client.call('placement.deny', node2)
  await rig.client.call('placement.deny', node2)
  const orphaning = { pattern: 'gemma4:12b', workers: ['node-1'] }
  await assert.rejects(rig.client.call('placement.deny', orphaning))
  const audit = await rig.client.call('audit.list', {})
  assert.deepEqual(
    audit.map(({ actor, verified, operation, outcome }) => [actor, verified, operation, outcome]),
    [
      ['anna@pts/1', false, 'placement.deny', 'refused'],
      ['anna@pts/1', false, 'placement.deny', 'unchanged'],
      ['anna@pts/1', false, 'placement.deny', 'changed'],
    ],
  )
  assert.deepEqual(audit[2]?.before, [{ worker: 'node-2', rules: null }])
  const events = await rig.client.call('events', {})
  assert.deepEqual(
    events.map(({ event, object, actor, revision }) => [event, object, actor, revision]),
    [['placement.deny', 'qwen3:8b node-2', 'anna@pts/1', 1]],
  )
})
