// Every key of the config does something: it is read outside of the config room, or it is refused
// as not built yet. A key counts as read where one file names both it and its section.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { knownKeys } from '../../../src/gateway/config/known-keys.ts'
import { NOT_BUILT_YET } from '../../../src/gateway/config/not-built-yet.ts'
import { ROOT } from '../../support/write-docs.ts'

/** Keys that nothing reads yet. This list only ever gets shorter. */
const NOT_READ_YET: readonly string[] = [
  'listen',
  'ops_listen',
  'drain_timeout',
  'admin.mode',
  'log.level',
  'workers[].urls',
  'workers[].max_concurrent',
  'workers[].model_concurrency',
  'workers[].model_placement.mode',
  'workers[].model_placement.allowed_models',
  'workers[].model_placement.denied_models',
  'workers[].headers',
  'workers[].tls.ca_file',
  'workers[].tls.verify',
  'workers[].probe.accept_status',
  'workers[].probe.timeout',
  'workers[].probe.max_backoff',
  'inventory.tags_interval',
  'inventory.ps_interval',
  'routing.loaded_bonus',
  'routing.installed_bonus',
  'routing.throughput_bonus',
  'routing.load_penalty',
  'routing.model_load_penalty',
  'routing.vram_pressure_penalty',
  'routing.gpu_utilization_penalty',
  'routing.avoid_vram_percent',
  'routing.affinity_bonus',
  'admission.heartbeat',
  'upstream.connect_timeout',
  'upstream.first_byte_grace',
  'upstream.first_byte_timeout',
  'upstream.stream_idle_grace',
  'upstream.stream_idle_timeout',
  'upstream.max_attempts',
  'upstream.retry_budget',
  'upstream.slow_reader_buffer_bytes',
  'auth.allowed_hosts',
  'cors.origins',
  'storage.dir',
  'storage.model_placement_file',
  'storage.placement_history_file',
  'storage.worker_performance_file',
  'storage.workers_file',
  'storage.keys_file',
  'storage.tenants_file',
  'storage.credits_file',
  'storage.usage_file',
  'audit.file',
  'audit.requests',
  'audit.max_bytes',
  'audit.keep',
]

/** `url` is written and `urls` is read: the config room turns the one into the other. */
const WRITTEN_ONLY = ['workers[].url']

const refused = new Set(NOT_BUILT_YET.map((row) => row.path))
const leaves = knownKeys().filter(({ leaf }) => leaf)
const sources = globSync('src/**/*.{ts,tsx}', { cwd: ROOT })
  .filter((file) => !file.startsWith(path.join('src', 'gateway', 'config')))
  .map((file) => new Set(readFileSync(path.join(ROOT, file), 'utf8').match(/\w+/g)))

function isRead(key: string): boolean {
  const words = key.replaceAll('[]', '').split('.').slice(-2)
  return sources.some((source) => words.every((word) => source.has(word)))
}

function isRefused(key: string): boolean {
  return [...refused].some((row) => key === row || key.startsWith(`${row}[`))
}

test('every key is read somewhere, or refused as not built yet', (t) => {
  const unread = leaves
    .map(({ path: key }) => key)
    .filter((key) => !WRITTEN_ONLY.includes(key) && !isRefused(key) && !isRead(key))
  assert.deepEqual(
    unread.filter((key) => !NOT_READ_YET.includes(key)),
    [],
    'read these keys, or give them a row in not-built-yet.ts',
  )
  const done = NOT_READ_YET.filter((key) => !unread.includes(key))
  if (done.length > 0) t.diagnostic(`read by now, so strike them: ${done.join(', ')}`)
})

test('every row of not-built-yet names a key of the schema', () => {
  const known = new Set(knownKeys().map(({ path: key }) => key))
  const strays = NOT_BUILT_YET.filter((row) => !known.has(row.path))
  assert.deepEqual(strays, [])
})

test('every key has a description, and every duration and size a unit', () => {
  for (const { path: key, node } of knownKeys()) {
    assert.ok((node.description ?? '').length > 10, `${key} has no description`)
    const needsUnit = /(?:timeout|interval|_bytes|tokens|_wait|grace|budget|backoff)$/.test(key)
    assert.ok(!needsUnit || node.unit !== undefined, `${key} has no unit`)
  }
})
