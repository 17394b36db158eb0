import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, suite, test } from 'node:test'
import { loadConfigFile } from '../../../src/gateway/config/load.ts'
import { ConfigReload } from '../../../src/gateway/config/reload.ts'
import { startAdminRig } from '../../support/admin-rig.ts'

let dir: string
let file: string
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'ogw-reload-'))
  file = path.join(dir, 'config.json')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const config = (more: Record<string, unknown> = {}, workers = ['node-1']): string =>
  JSON.stringify({
    workers: workers.map((name) => ({ name, url: 'http://127.0.0.1:1' })),
    ...more,
  })

function start(text = config()) {
  writeFileSync(file, text)
  const loaded = loadConfigFile(file, {})
  assert.ok(loaded.ok)
  const applied: string[][] = []
  const reload = new ConfigReload({
    file,
    env: {},
    now: () => 0,
    loaded,
    apply: ({ workers }) => void applied.push(workers.map(({ name }) => name)),
  })
  return { reload, applied }
}

suite('B147: a file that is not whole changes nothing', () => {
  test('written in pieces: refused at each, taken over when it is whole', () => {
    const { reload, applied } = start()
    const next = config({}, ['node-1', 'node-2'])
    const pieces = 5
    writeFileSync(file, '')
    for (let piece = 0; piece < pieces; piece += 1) {
      const result = reload.reload()
      assert.ok(!result.ok, `after ${piece} of ${pieces} pieces`)
      assert.equal(reload.config.workers.length, 1)
      assert.ok((reload.error ?? '') !== '')
      const size = Math.ceil(next.length / pieces)
      appendFileSync(file, next.slice(piece * size, (piece + 1) * size))
    }
    assert.deepEqual(applied, [])
    assert.ok(reload.reload().ok)
    assert.deepEqual(applied, [['node-1', 'node-2']])
    assert.equal(reload.error, undefined)
  })

  const bad: [string, string, RegExp][] = [
    ['not JSON', '{"workers": [\n  oops', /line 2/],
    ['a key that is none', config({ workerz: [] }), /workerz/],
    ['a value that is none', config({ drain_timeout: 5 }), /drain_timeout/],
    ['two workers of one name', config({}, ['a', 'A']), /workers/],
  ]
  for (const [name, text, why] of bad) {
    test(name, () => {
      const { reload, applied } = start()
      const before = reload.config
      writeFileSync(file, text)
      const result = reload.reload()
      assert.ok(!result.ok)
      assert.match(result.problems.join(), why)
      assert.match(reload.error ?? '', why)
      assert.equal(reload.config, before)
      assert.deepEqual(applied, [])
    })
  }

  test('a file that is gone', () => {
    const { reload } = start()
    rmSync(file)
    assert.ok(!reload.reload().ok)
    assert.equal(reload.drift().state, 'unreadable')
  })
})

test('keys that need a restart are named and keep their running values, the others hold', () => {
  const { reload, applied } = start()
  writeFileSync(file, config({ listen: '127.0.0.1:9', drain_timeout: '1m' }, ['node-2']))
  const result = reload.reload()
  assert.ok(result.ok)
  assert.deepEqual(result.restartNeeded, ['listen'])
  assert.deepEqual(result.keys.toSorted(), ['drain_timeout', 'workers'])
  assert.deepEqual(applied, [['node-2']])
  assert.equal(reload.config.listen, '127.0.0.1:11435')
  assert.deepEqual(reload.restartNeeded, ['listen'])
})

test('the same file again is no change, and whoever applies is not bothered', () => {
  const { reload, applied } = start()
  const result = reload.reload()
  assert.ok(result.ok && !result.changed)
  assert.deepEqual(applied, [])
})

test('a config that cannot be applied for a bug is not the running one', () => {
  writeFileSync(file, config())
  const loaded = loadConfigFile(file, {})
  assert.ok(loaded.ok)
  const apply = (): never => {
    throw new TypeError('a bug')
  }
  const reload = new ConfigReload({ file, env: {}, now: () => 0, loaded, apply })
  writeFileSync(file, config({}, ['node-2']))
  assert.throws(() => reload.reload(), /a bug/)
  assert.deepEqual(
    reload.config.workers.map(({ name }) => name),
    ['node-1'],
  )
  assert.equal(reload.drift().state, 'differs')
})

test('a dry run says what would happen and leaves no error behind', () => {
  const { reload, applied } = start()
  writeFileSync(file, config({}, ['node-2']))
  const result = reload.reload(true)
  assert.ok(result.ok)
  assert.deepEqual(result.keys, ['workers'])
  writeFileSync(file, 'broken')
  assert.ok(!reload.reload(true).ok)
  assert.deepEqual([applied, reload.error], [[], undefined])
})

test('drift: only what differs in meaning counts, and problems are all said', () => {
  const { reload } = start()
  assert.deepEqual(reload.drift(), { state: 'same', keys: [], problems: [] })
  writeFileSync(file, `${config()}\n\n`)
  assert.equal(reload.drift().state, 'same')
  writeFileSync(file, config({ drain_timeout: '1m', listen: '127.0.0.1:9' }))
  assert.deepEqual(reload.drift().keys.toSorted(), ['drain_timeout', 'listen'])
  writeFileSync(file, config({ drain_timeout: 5, workerz: 1 }))
  const drift = reload.drift()
  assert.equal(drift.state, 'differs')
  assert.equal(drift.problems.length, 2)
})

// What operators decided at run time outlives every config, and a new baseline holds where they
// decided nothing.
test('a reload over the socket: overrides stay, baselines and errors are shown', async () => {
  await using rig = await startAdminRig()
  await rig.client.call('placement.deny', { pattern: 'qwen3:8b', workers: ['node-2'] })
  const workers = ['node-1', 'node-2'].map((name) => ({
    name,
    url: 'http://127.0.0.1:1',
    model_placement: { denied_models: ['new:*'] },
  }))
  const storage = { dir: rig.dir }
  writeFileSync(rig.configFile, JSON.stringify({ workers, storage }))
  assert.deepEqual((await rig.client.call('config.drift', {})).keys, ['workers'])
  assert.deepEqual((await rig.client.call('config.reload', {})).keys, ['workers'])
  const rows = await rig.client.call('workers.list', {})
  assert.deepEqual(
    rows.map(({ placement }) => [
      placement.layer,
      placement.denied_models,
      placement.baseline.denied_models,
    ]),
    [
      ['config', ['new:*'], ['new:*']],
      ['override', ['qwen3:8b'], ['new:*']],
    ],
  )

  writeFileSync(rig.configFile, '{"workers": [')
  await assert.rejects(rig.client.call('config.reload', {}), { code: 'config_invalid' })
  const status = await rig.client.call('status', {})
  assert.match(status.config.reload_error ?? '', /line 1/)
  assert.match(status.problems.join(), /config file was not taken over/)
  assert.equal((await rig.client.call('health', {})).healthy, false)
  assert.equal(rig.admin.reload().ok, false, 'SIGHUP says the same')
  const events = await rig.client.call('events', {})
  assert.deepEqual(
    events.slice(-3).map(({ event, actor }) => [event, actor]),
    [
      ['config.reload', 'anna@pts/1'],
      ['config.rejected', 'anna@pts/1'],
      ['config.rejected', null],
    ],
  )
})
