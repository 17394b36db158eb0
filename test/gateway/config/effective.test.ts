import assert from 'node:assert/strict'
import { test } from 'node:test'
import { digestOf, restartOnlyChanges } from '../../../src/gateway/config/drift.ts'
import { effectiveConfig } from '../../../src/gateway/config/effective.ts'
import { configJsonSchema } from '../../../src/gateway/config/known-keys.ts'
import type { LoadedConfig } from '../../../src/gateway/config/load.ts'
import { loadConfig } from '../../../src/gateway/config/load.ts'
import { storagePaths } from '../../../src/gateway/config/storage-paths.ts'

function load(value: unknown, env: Record<string, string> = {}): LoadedConfig {
  const result = loadConfig(JSON.stringify(value), env)
  assert.ok(result.ok, JSON.stringify(result))
  return result
}

// B170: whoever shows a config shows it to others: in an issue, on a shared screen.
test('no secret is in the effective config, wherever it was written', () => {
  const loaded = load(
    {
      listen: '127.0.0.1:${PORT}',
      workers: [
        {
          name: 'a',
          urls: ['http://u:hunter2@w:1', 'http://${HOST}:1'],
          headers: { 'X-Key': 'hunter3', cookie: '${COOKIE}' },
        },
        { name: 'b', url: 'http://${HOST}/x', why: 'ask ${WHO}' },
      ],
    },
    { HOST: 'hunter4', COOKIE: 'hunter5', PORT: '12345', WHO: 'hunter6' },
  )
  const text = JSON.stringify(effectiveConfig(loaded.config, loaded.fromEnv))
  assert.doesNotMatch(text, /hunter|aHVudGVy|12345/)
  assert.match(text, /"urls":\["http:\/\/w:1","\*\*\*"\],"headers":\{"authorization":"\*\*\*"/)
})

test('credentials in other addresses and the secret of Open WebUI are masked too', () => {
  const { config } = load({})
  const [worker] = config.workers
  assert.ok(worker)
  worker.telemetry_url = 'http://u:hunter2@gpu:9400/metrics'
  config.otel.endpoint = 'http://u:hunter2@otel:4318'
  config.auth.openwebui_jwt_secret = 'hunter2'
  const text = JSON.stringify(effectiveConfig(config, []))
  assert.doesNotMatch(text, /hunter/)
  assert.match(text, /http:\/\/\*\*\*@gpu:9400\/metrics/)
})

// What is shown can be written: `ogw config show > config.json` gives the same gateway.
test('the effective config loads again and is the same', () => {
  const { config } = load({
    workers: [{ name: 'a', url: 'w', probe: { interval: 'off' } }],
    drain_timeout: '90s',
  })
  const shown = effectiveConfig(config, [])
  assert.equal(shown['drain_timeout'], '90s')
  assert.deepEqual(load(shown).config, config)
})

test('only changes that need a restart are named', () => {
  const before = load({}).config
  const after = load({
    ops_listen: null,
    admin: { mode: '0600' },
    storage: { dir: '/x', keys_file: 'k.json' },
    log: { level: 'debug' },
    workers: [{ name: 'n', url: 'w' }],
  }).config
  assert.deepEqual(restartOnlyChanges(before, after), [
    'ops_listen',
    'admin.mode',
    'storage.dir',
    'storage.keys_file',
  ])
  assert.deepEqual(restartOnlyChanges(before, load({}).config), [])
})

test('a digest tells texts apart', () => {
  assert.equal(digestOf('{}'), loadConfig('{}', {}).ok && load({}).digest)
  assert.notEqual(digestOf('{}'), digestOf('{ }'))
})

test('where state is kept', () => {
  const cases: [env: Record<string, string>, uid: number, dir: string][] = [
    [{ STATE_DIRECTORY: '/s:/t', XDG_STATE_HOME: '/x', HOME: '/h' }, 0, '/s'],
    [{ XDG_STATE_HOME: '/x', HOME: '/h' }, 0, '/x/ogw'],
    [{ HOME: '/root' }, 0, '/var/lib/ogw'],
    [{ HOME: '/h' }, 1000, '/h/.local/state/ogw'],
  ]
  const { config } = load({})
  for (const [env, uid, dir] of cases) assert.equal(storagePaths(config, env, uid).dir, dir)
})

test('state files are in the folder, unless their path is absolute', () => {
  const { config } = load({
    storage: { dir: '/d', keys_file: '/etc/keys.json' },
    audit: { file: null },
  })
  const paths = storagePaths(config, {})
  assert.equal(paths.model_placement_file, '/d/model-placement.json')
  assert.equal(paths.keys_file, '/etc/keys.json')
  assert.equal(paths.audit_file, null)
  assert.equal(
    storagePaths(load({}).config, { XDG_STATE_HOME: '/x' }).audit_file,
    '/x/ogw/audit.jsonl',
  )
})

test('the JSON Schema has units, defaults, bounds and descriptions', () => {
  const upstream = configJsonSchema().properties?.['upstream']?.properties
  assert.deepEqual(
    { ...upstream?.['max_attempts'], description: undefined },
    { type: 'integer', default: 3, minimum: 1, maximum: 100, description: undefined },
  )
  assert.equal(upstream?.['connect_timeout']?.unit, 'duration')
  assert.equal(upstream?.['connect_timeout']?.default, '2s')
})
