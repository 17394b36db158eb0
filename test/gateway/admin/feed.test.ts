import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Feed } from '../../../src/gateway/admin/feed.ts'
import { makeSnapshot } from '../../../src/gateway/admin/snapshot.ts'
import { mergeChange } from '../../../src/gateway/contract/merge.ts'
import type { Snapshot, WatchLine } from '../../../src/gateway/contract/schema/snapshot.ts'
import { startAdminRig } from '../../support/admin-rig.ts'
import { manualClock } from '../../support/manual-clock.ts'
import type { ManualClock } from '../../support/manual-clock.ts'

const TICK_MS = 250

interface Rig extends AsyncDisposable {
  rig: Awaited<ReturnType<typeof startAdminRig>>
  clock: ManualClock
  watch(): Watcher
}

/** A reader that takes a line only when the test says so, and ticks while it waits for one. */
interface Watcher {
  snapshot: Snapshot
  next(): Promise<WatchLine>
  take(): Promise<WatchLine>
  leave(): Promise<void>
}

async function start(): Promise<Rig> {
  const clock = manualClock()
  const rig = await startAdminRig({ clock })
  const feed = new Feed(rig.sources)
  const watch = (): Watcher => {
    const gone = new AbortController()
    const lines = feed.watch(gone.signal)
    const next = async (): Promise<WatchLine> => {
      let result: IteratorResult<WatchLine, void> | undefined
      void lines.next().then((each) => (result = each))
      for (let ticks = 0; result === undefined; ticks += 1) {
        assert.ok(ticks < 100, 'no line within 100 ticks')
        await new Promise((resolve) => setImmediate(resolve))
        if (result === undefined) clock.advance(TICK_MS)
      }
      if (result.done === true) throw new Error('the feed ended')
      return result.value
    }
    const watcher: Watcher = {
      snapshot: makeSnapshot(rig.sources),
      next,
      async take() {
        const line = await next()
        if (line.type === 'snapshot') watcher.snapshot = line.snapshot
        if (line.type === 'change') watcher.snapshot = mergeChange(watcher.snapshot, line)
        return line
      },
      async leave() {
        gone.abort()
        await lines.return()
      },
    }
    return watcher
  }
  return { rig, clock, watch, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() }
}

/** Ages are differences to `mono`; everything else has to be the same. */
const without = (snapshot: Snapshot): unknown => ({ ...snapshot, mono: 0 })

test('first the snapshot; a quiet fleet gets heartbeats and nothing else', async () => {
  await using started = await start()
  const watcher = started.watch()
  assert.equal((await watcher.take()).type, 'snapshot')
  for (let beats = 0; beats < 3; beats += 1) {
    const before = started.clock.mono()
    assert.equal((await watcher.take()).type, 'heartbeat')
    assert.ok(started.clock.mono() - before <= 2_250)
  }
  await watcher.leave()
})

test('a change holds the rows that differ, and merges to what a new snapshot would be', async () => {
  await using started = await start()
  const { rig } = started
  const watcher = started.watch()
  await watcher.take()
  await rig.client.call('placement.deny', { pattern: 'gemma4:latest', workers: ['node-1'] })
  const line = await watcher.take()
  assert.ok(line.type === 'change')
  assert.deepEqual(
    [line.workers?.set.map(({ name }) => name), line.models?.set.map((row) => row.model)],
    [['node-1'], ['gemma4:latest']],
  )
  assert.deepEqual([line.gateway, line.requests, line.events?.length], [undefined, undefined, 1])
  assert.deepEqual(without(watcher.snapshot), without(makeSnapshot(rig.sources)))
  await watcher.leave()
})

test('rows that are gone are named, and workers that come and go change nobody’s order', async () => {
  await using started = await start()
  const { rig } = started
  const watcher = started.watch()
  await watcher.take()
  const [first, second] = rig.sources.reload.config.workers
  assert.ok(first !== undefined && second !== undefined)
  rig.fleet.apply({ type: 'configured', workers: [second] })
  const line = await watcher.take()
  assert.ok(line.type === 'change')
  assert.deepEqual(line.workers?.gone, ['node-1'])
  assert.deepEqual(line.models?.gone, ['gemma4:12b'])
  assert.deepEqual(without(watcher.snapshot), without(makeSnapshot(rig.sources)))
  rig.fleet.apply({ type: 'configured', workers: [first, second] })
  await watcher.take()
  assert.deepEqual(without(watcher.snapshot), without(makeSnapshot(rig.sources)))
  await watcher.leave()
})

// A terminal that stood still for a minute wants to see now, not to be shown the minute again.
test('a slow reader gets the newest state in one line', async () => {
  await using started = await start()
  const { rig, clock } = started
  const slow = started.watch()
  const quick = started.watch()
  await slow.take()
  await quick.take()
  let lines = 0
  for (let version = 1; version <= 10; version += 1) {
    rig.fleet.apply({ type: 'draining', worker: 'node-1', draining: version % 2 === 1 })
    rig.active.splice(0, 9, request(`r-${version}`))
    rig.sources.events.add({ severity: 'info', event: 'e', object: `${version}`, detail: '' })
    clock.advance(TICK_MS)
    if ((await quick.take()).type === 'change') lines += 1
  }
  assert.ok(lines >= 5, 'the quick one saw them come')

  assert.equal((await slow.take()).type, 'change')
  assert.deepEqual(without(slow.snapshot), without(makeSnapshot(rig.sources)))
  assert.deepEqual(
    slow.snapshot.requests.map(({ id }) => id),
    ['r-10'],
  )
  assert.equal(slow.snapshot.events.length, 10)
  assert.equal((await slow.take()).type, 'heartbeat', 'nothing is left over')
  await Promise.all([slow.leave(), quick.leave()])
})

test('while nobody watches there is no timer', async () => {
  await using started = await start()
  const before = started.clock.pending
  const watcher = started.watch()
  await watcher.take()
  assert.equal(started.clock.pending, before + 1)
  await watcher.leave()
  assert.equal(started.clock.pending, before)
})

function request(id: string) {
  return {
    id,
    dialect: 'ollama',
    path: '/api/chat',
    model: 'qwen3:8b',
    tenant: 'default',
    actor: '',
    receivedAt: 10,
    phase: 'waiting',
    worker: undefined,
    attempts: 0,
    grantedAt: undefined,
    firstByteAt: undefined,
    queueMs: 0,
    chunks: () => 0,
  } as Rig['rig']['active'][number]
}

test('credits move with every request, and consoles hear of them once a tick', async () => {
  await using started = await start()
  const { rig, clock } = started
  await rig.client.call('tenants.set', { tenant: 'team', credits: 1_000 })
  const watcher = started.watch()
  await watcher.take()
  for (let request = 1; request <= 50; request += 1) {
    const paid = rig.credits.reserve({ tenant: 'team', account: 'anna' }, 5)
    assert.ok(paid.ok)
    paid.reservation.settle(2)
  }
  const before = clock.mono()
  const line = await watcher.take()
  assert.ok(line.type === 'change')
  assert.ok(clock.mono() - before <= TICK_MS)
  assert.deepEqual(
    line.tenants?.set.map(({ name, account }) => [name, account.used]),
    [['team', 100]],
  )
  assert.equal(line.access, undefined, 'no document has changed')
  assert.deepEqual(without(watcher.snapshot), without(makeSnapshot(rig.sources)))
  await rig.client.call('tenants.set', { tenant: 'other', weight: 2 })
  const next = await watcher.take()
  assert.ok(next.type === 'change')
  assert.equal(next.access?.tenants_revision, 2)
  assert.deepEqual(without(watcher.snapshot), without(makeSnapshot(rig.sources)))
  await watcher.leave()
})

// A gateway of an older version sends no tenants; what it does send still arrives.
test('a change that has no tenants merges into a snapshot that has none', async () => {
  await using started = await start()
  const { access: _a, tenants: _t, ...older } = makeSnapshot(started.rig.sources)
  const merged = mergeChange(older, { type: 'change', mono: 7 })
  assert.deepEqual(merged, { ...older, mono: 7 })
})
