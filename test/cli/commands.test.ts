// Every command against a scripted gateway: what it asks, and what it prints for people (golden)
// and for scripts (golden, and nothing but JSON).

import assert from 'node:assert/strict'
import path from 'node:path'
import { after, before, test } from 'node:test'
import type { Handlers } from '../../src/gateway/admin/handlers.ts'
import { type FakeAdmin, startFakeAdmin } from '../support/fake-admin.ts'
import * as fleet from '../support/fleet-fixture.ts'
import { run } from '../support/run-cli.ts'

const GOLDEN = path.join(import.meta.dirname, '..', '..', '..', 'test', 'golden', 'cli')

const outcome = { worker: 'node-1', ok: true, changed: true, message: 'done' }
const document = {
  version: 1 as const,
  overrides: [
    { worker: 'node-1', mode: 'whitelist' as const, allowed_models: ['a:1'], denied_models: [] },
  ],
}

const handlers: Partial<Handlers> = {
  status: () => fleet.status,
  health: () => ({ healthy: true, problems: [] }),
  names: () => ({ workers: ['node-1', 'рабочий-2'], models: ['qwen3:8b', fleet.WIDE, fleet.EVIL] }),
  'workers.list': () => fleet.workers,
  'workers.show': () => ({
    ...fleet.worker('node-1', 0, fleet.workers[0]),
    now_mono: 61_000,
    tags_read_mono: 56_000,
    ps_read_mono: 60_000,
    next_probe_mono: 65_000,
    drained_at: null,
    drained_by: null,
  }),
  'workers.drain': ({ workers }) =>
    workers.map((worker) => ({ ...outcome, worker, message: 'drains' })),
  'workers.resume': ({ workers }) =>
    workers.map((worker) => ({ ...outcome, worker, message: 'takes requests' })),
  'workers.probe': () => [outcome],
  'placement.show': () => fleet.matrix,
  'placement.why': () => [fleet.why],
  'placement.allow': ({ dry_run }) => ({ ...fleet.change, ...(dry_run === true && { id: null }) }),
  'placement.deny': () => ({ ...fleet.change, orphaned: ['qwen3:8b'], refused_last_hour: 7 }),
  'placement.clear': () => ({
    ...fleet.change,
    changes: [],
    id: null,
    message: 'there is no such rule on рабочий-2',
  }),
  'placement.mode': () => fleet.change,
  'placement.preset': () => fleet.change,
  'placement.reset': () => fleet.change,
  'placement.export': () => document,
  'placement.apply': () => ({ ...fleet.change, changes: [], id: null, message: 'no change' }),
  'placement.history': () => fleet.history,
  'placement.undo': () => fleet.change,
  'models.list': () => fleet.models,
  'models.show': () => fleet.models[0]!,
  'models.load': () => [outcome],
  'models.unload': () => [outcome],
  'models.rm': () => [outcome],
  'models.pull': async function* () {
    const line = {
      worker: 'node-1',
      digest: null,
      completed_bytes: null,
      total_bytes: null,
      done: false,
      error: null,
    }
    yield { ...line, status: 'pulling manifest' }
    yield {
      ...line,
      status: 'pulling 500a1f067a9f',
      completed_bytes: 1_000_000_000,
      total_bytes: 5_200_000_000,
    }
    yield {
      ...line,
      status: 'pulling 500a1f067a9f',
      completed_bytes: 5_200_000_000,
      total_bytes: 5_200_000_000,
    }
    yield { ...line, status: 'success', done: true }
  },
  'requests.list': () => fleet.requests,
  'requests.show': () => ({
    ...fleet.request('8f21'),
    decisions: [
      { at: '2026-05-01T11:59:30Z', outcome: 'granted', worker: 'node-1', judged: fleet.judged },
    ],
  }),
  'requests.cancel': ({ id }) => ({ id, cancelled: true, message: `${id} is cancelled` }),
  explain: () => fleet.explanation,
  'config.reload': () => ({
    changed: true,
    keys: ['aliases'],
    restart_needed: ['listen'],
    warnings: ['node-1 has no model'],
  }),
  'storage.list': () => fleet.storage,
  events: () => fleet.events,
  'events.follow': async function* () {
    yield* fleet.events
  },
  'audit.list': () => fleet.audit,
}

let admin: FakeAdmin
before(async () => {
  admin = await startFakeAdmin(handlers)
})
after(() => admin[Symbol.asyncDispose]())

/** Command line → what the gateway must be asked. */
const CASES: readonly [string, unknown][] = [
  ['status', { operation: 'status', input: {} }],
  ['health', { operation: 'health', input: {} }],
  ['workers list', { operation: 'workers.list', input: {} }],
  ['workers show node-1', { operation: 'workers.show', input: { worker: 'node-1' } }],
  [
    'workers drain node-1 node-3',
    { operation: 'workers.drain', input: { workers: ['node-1', 'node-3'] } },
  ],
  [
    'workers resume node-1 --dry-run',
    { operation: 'workers.resume', input: { workers: ['node-1'], dry_run: true } },
  ],
  ['workers probe', { operation: 'workers.probe', input: {} }],
  ['placement show', { operation: 'placement.show', input: {} }],
  [
    'placement show qwen3:8b --worker node-1',
    { operation: 'placement.show', input: { model: 'qwen3:8b', worker: 'node-1' } },
  ],
  ['placement why qwen3:8b', { operation: 'placement.why', input: { model: 'qwen3:8b' } }],
  [
    'placement why qwen3:8b рабочий-2',
    { operation: 'placement.why', input: { model: 'qwen3:8b', worker: 'рабочий-2' } },
  ],
  [
    'placement allow qwen3:8b рабочий-2',
    { operation: 'placement.allow', input: { pattern: 'qwen3:8b', workers: ['рабочий-2'] } },
  ],
  [
    'placement allow qwen3:8b a b -n',
    {
      operation: 'placement.allow',
      input: { pattern: 'qwen3:8b', workers: ['a', 'b'], dry_run: true },
    },
  ],
  [
    'placement deny gemma4:* a --dry-run',
    { operation: 'placement.deny', input: { pattern: 'gemma4:*', workers: ['a'], dry_run: true } },
  ],
  [
    'placement deny gemma4:* a --force',
    { operation: 'placement.deny', input: { pattern: 'gemma4:*', workers: ['a'], force: true } },
  ],
  [
    'placement clear gemma4:* a',
    { operation: 'placement.clear', input: { pattern: 'gemma4:*', workers: ['a'] } },
  ],
  [
    'placement mode a whitelist',
    { operation: 'placement.mode', input: { workers: ['a'], mode: 'whitelist' } },
  ],
  [
    'placement preset a only-installed',
    { operation: 'placement.preset', input: { workers: ['a'], preset: 'only-installed' } },
  ],
  ['placement reset a', { operation: 'placement.reset', input: { workers: ['a'] } }],
  ['placement export', { operation: 'placement.export', input: {} }],
  [
    'placement apply -f - --dry-run',
    { operation: 'placement.apply', input: { document, dry_run: true } },
  ],
  ['placement history', { operation: 'placement.history', input: { limit: 100 } }],
  ['placement undo 42', { operation: 'placement.undo', input: { id: 42 } }],
  ['models list', { operation: 'models.list', input: {} }],
  ['models show qwen3:8b', { operation: 'models.show', input: { model: 'qwen3:8b' } }],
  ['models load qwen3:8b', { operation: 'models.load', input: { model: 'qwen3:8b' } }],
  [
    'models unload qwen3:8b --worker a --worker b',
    { operation: 'models.unload', input: { model: 'qwen3:8b', workers: ['a', 'b'] } },
  ],
  ['models pull qwen3:8b --all', { operation: 'models.pull', input: { model: 'qwen3:8b' } }],
  [
    'models rm qwen3:8b --worker a --yes',
    { operation: 'models.rm', input: { model: 'qwen3:8b', workers: ['a'] } },
  ],
  ['requests list', { operation: 'requests.list', input: {} }],
  ['requests show 8f21', { operation: 'requests.show', input: { id: '8f21' } }],
  ['requests cancel 8f21', { operation: 'requests.cancel', input: { id: '8f21' } }],
  [
    'explain qwen3:8b --tools --vision --ctx 16000',
    { operation: 'explain', input: { model: 'qwen3:8b', tools: true, vision: true, ctx: 16_000 } },
  ],
  ['config reload', { operation: 'config.reload', input: {} }],
  ['storage', { operation: 'storage.list', input: {} }],
  ['events', { operation: 'events', input: { limit: 50 } }],
  ['events -f', { operation: 'events.follow', input: { limit: 50 } }],
  ['audit', { operation: 'audit.list', input: { limit: 50 } }],
]

const fileOf = (line: string): string => line.replaceAll(/[^a-z\d]+/gi, '-').replace(/-$/, '')
const options = () => ({ socket: admin.socket, stdin: JSON.stringify(document) })

for (const [line, asked] of CASES) {
  test(`ogw ${line}`, async (t) => {
    const ran = await run(line.split(' '), options())
    assert.equal(ran.code, 0, ran.stderr)
    assert.deepEqual(admin.asked.at(-1), { ...(asked as object), actor: 'anna@cli' })
    t.assert.fileSnapshot(
      `$ ogw ${line}\n${ran.stdout}--- stderr\n${ran.stderr}`,
      path.join(GOLDEN, `${fileOf(line)}.txt`),
      { serializers: [String] },
    )
  })

  test(`ogw ${line} --json`, async (t) => {
    const ran = await run([...line.split(' '), '--json'], options())
    assert.equal(ran.code, 0, ran.stderr)
    const documents = line === 'events -f' ? ran.stdout.trimEnd().split('\n') : [ran.stdout]
    for (const one of documents) JSON.parse(one)
    t.assert.fileSnapshot(ran.stdout, path.join(GOLDEN, `${fileOf(line)}.json.txt`), {
      serializers: [String],
    })
  })
}

test('documents have exactly the shapes that scripts were promised', async () => {
  const json = async (line: string): Promise<unknown> =>
    JSON.parse((await run([...line.split(' '), '--json'], options())).stdout)
  const keys = (value: unknown): string[] => Object.keys(value as object)
  assert.deepEqual(keys(await json('placement why qwen3:8b рабочий-2')), [
    'model',
    'worker',
    'allowed',
    'decided_by',
    'layer',
    'competing',
  ])
  const [entry] = (await json('placement history')) as unknown[]
  assert.deepEqual(keys(entry), ['id', 'at', 'actor', 'operation', 'before', 'after'])
  assert.deepEqual(keys(await json('placement deny a b -n')), [
    'changes',
    'orphaned',
    'refused_last_hour',
  ])
  for (const line of ['workers', 'placement', 'models', 'requests', 'events', 'audit', 'storage']) {
    assert.ok(Array.isArray(await json(line)), `${line} is a bare array`)
  }
})
