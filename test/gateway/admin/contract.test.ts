// Every operation over the real socket: its answer has the shape of the contract and no other, and
// stands as a golden for whoever reads it.

import assert from 'node:assert/strict'
import path from 'node:path'
import { suite, test } from 'node:test'
import type { z } from 'zod'
import { operations } from '../../../src/gateway/contract/operations.ts'
import type { OperationName, StreamName } from '../../../src/gateway/contract/operations.ts'
import { shapes } from '../../../src/gateway/contract/schema.ts'
import type { InputOf } from '../../../src/gateway/contract/schema.ts'
import { startAdminRig } from '../../support/admin-rig.ts'
import type { AdminRig } from '../../support/admin-rig.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { aRecord } from '../../support/request-records.ts'

const GOLDEN = path.join(import.meta.dirname, '../../../../test/golden/admin')

const node2 = { pattern: 'qwen3:8b', workers: ['node-2'] }
const model = 'qwen3:8b'
const rules = { mode: 'allow_all' as const, allowed_models: [], denied_models: ['b:1'] }

const PUBLIC_KEY = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${'A'.repeat(43)} anna`

/** In this order: later ones see what earlier ones did. A new operation does not compile without. */
const INPUTS: { [N in OperationName]: InputOf<N> } = {
  names: {},
  health: {},
  'workers.list': {},
  'workers.show': { worker: 'node-1' },
  'workers.drain': { workers: ['node-2'] },
  'workers.resume': { workers: ['node-2'] },
  'workers.probe': {},
  'placement.show': {},
  'placement.why': { model },
  'placement.deny': node2,
  'placement.allow': node2,
  'placement.clear': node2,
  'placement.toggle': { cells: [{ model, worker: 'node-2' }] },
  'placement.mode': { workers: ['node-2'], mode: 'whitelist', force: true },
  'placement.preset': { workers: ['node-2'], preset: 'only-installed' },
  'placement.set': { overrides: [{ worker: 'node-1', ...rules }] },
  'placement.export': {},
  'placement.apply': { document: { version: 1, overrides: [{ worker: 'node-2', ...rules }] } },
  'placement.undo': {},
  'placement.reset': { workers: ['node-1', 'node-2'] },
  'placement.history': { limit: 2 },
  'models.list': {},
  'models.show': { model },
  'models.load': { model },
  'models.unload': { model },
  'models.pull': { model, workers: ['node-2'] },
  'models.rm': { model, workers: ['node-2'] },
  'requests.list': {},
  'requests.show': { id: 'r-running' },
  'requests.cancel': { id: 'r-running' },
  explain: { model, tools: true, ctx: 8192 },
  'config.show': {},
  'config.drift': {},
  'config.reload': {},
  'storage.list': {},
  'storage.flush': {},
  events: { limit: 3 },
  'events.follow': { limit: 1 },
  'audit.list': { limit: 2 },
  snapshot: {},
  watch: {},
  status: {},
  'keys.create': { tenant: 'default', scope: 'manage', expires: '30d' },
  'keys.add_ed25519': { tenant: 'default', public_key: PUBLIC_KEY },
  'keys.list': {},
  'keys.revoke': { id: '' },
  'tenants.set': { tenant: 'team', weight: 3, credit_window: '1h' },
  'tenants.list': {},
  'tenants.show': { tenant: 'TEAM' },
  'tenants.use': { tenant: 'default' },
  'credits.grant': { tenant: 'team', tokens: 500 },
  'credits.reset': { tenant: 'team', actor: 'anna' },
  'credits.show': {},
  usage: { by: 'model', since: '24h' },
}

test('every operation answers in the shape of the contract', async (t) => {
  await using rig = await busyRig()
  for (const name of Object.keys(INPUTS) as OperationName[]) {
    const answer = await ask(rig, name)
    const { output } = shapes[name] as { output: z.ZodType }
    const parsed = output.safeParse(answer)
    assert.ok(parsed.success, `${name}: ${parsed.error?.message}`)
    // What zod would drop is told to nobody: an answer has no field that the contract lacks.
    assert.deepEqual(parsed.data, answer, name)
    await t.test(name, (each) => {
      const text = `${JSON.stringify(answer, undefined, 2)}\n`.replaceAll(rig.dir, '/DIR')
      each.assert.fileSnapshot(steady(text), path.join(GOLDEN, `${name}.json.txt`), {
        serializers: [(value: unknown) => String(value)],
      })
    })
  }
  assert.deepEqual(rig.bugs, [])
})

suite('the table', () => {
  test('paths are unique, reads are GET, changes are POST and take the three options', () => {
    const all = Object.entries(operations)
    const paths = all.map(([, { path: at }]) => at)
    assert.deepEqual(paths, [...new Set(paths)])
    for (const [name, { method, changes }] of all) {
      assert.equal(method, changes ? 'POST' : 'GET', name)
      const { input } = shapes[name as OperationName]
      const keys = Object.keys(input.shape)
      for (const option of ['dry_run', 'force', 'if_revision']) {
        assert.equal(keys.includes(option), changes, `${name} ${option}`)
      }
    }
  })
})

async function ask(rig: AdminRig, name: OperationName): Promise<unknown> {
  if (name === 'keys.revoke') return rig.client.call(name, { id: rig.keys.list()[0]?.id ?? '' })
  if (!isStream(name)) return rig.client.call(name, INPUTS[name] as never)
  const leave = new AbortController()
  for await (const line of rig.client.stream(name, INPUTS[name] as never, leave.signal)) {
    return line
  }
  return undefined
}

const isStream = (name: OperationName): name is StreamName => operations[name].stream

/** A running, a waiting and an ended request, and a clock that stands still. */
async function busyRig(): Promise<AdminRig> {
  const clock = manualClock()
  const rig = await startAdminRig({ clock })
  rig.book.done({ ...aRecord('r-ended', model), durationMs: 900 })
  const base = { dialect: 'ollama', path: '/api/chat', model, tenant: 'default', actor: 'key' }
  rig.active.push(
    {
      ...base,
      id: 'r-running',
      receivedAt: 200,
      phase: 'streaming',
      worker: 'node-1',
      attempts: 1,
      grantedAt: 250,
      firstByteAt: 300,
      queueMs: 50,
      chunks: () => 42,
    } as (typeof rig.active)[number],
    {
      ...base,
      id: 'r-waiting',
      receivedAt: 600,
      phase: 'waiting',
      worker: undefined,
      attempts: 0,
      grantedAt: undefined,
      firstByteAt: undefined,
      queueMs: 0,
      chunks: () => 0,
    } as (typeof rig.active)[number],
  )
  return rig
}

/** Sizes and times of files differ with the machine and the day. */
function steady(text: string): string {
  return text
    .replaceAll(/"modified_at": "[^"]+"/g, '"modified_at": "(time)"')
    .replaceAll(/"k[0-9a-f]{10}"/g, '"(id)"')
    .replaceAll(/"ogw_[\w-]{43}"/g, '"(key)"')
    .replaceAll(/"size_bytes": \d{1,5}(,\n\s+"modified_at": "\(time\)")/g, '"size_bytes": 0$1')
}
