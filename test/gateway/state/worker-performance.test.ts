import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { Config } from '../../../src/gateway/config/schema.ts'
import { Fleet } from '../../../src/gateway/fleet/fleet.ts'
import { StartError } from '../../../src/gateway/start-error.ts'
import type { NotSaved } from '../../../src/gateway/state/document.ts'
import { migrate } from '../../../src/gateway/state/migrate.ts'
import { WorkerPerformance } from '../../../src/gateway/state/worker-performance.ts'
import { diskError, watchedDisk } from '../../support/faulty-disk.ts'
import { systemClock } from '../../../src/gateway/clock.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'ogw-performance-'))
  file = path.join(folder, 'worker-performance.json')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Rig {
  fleet: Fleet
  performance: WorkerPerformance
  timers: { ms: number; action: () => void }[]
  troubles: (NotSaved | undefined)[]
}

function start(disk = watchedDisk(() => {})): Rig {
  const timers: Rig['timers'] = []
  const troubles: Rig['troubles'] = []
  const clock = {
    ...systemClock,
    after(ms: number, action: () => void) {
      timers.push({ ms, action })
      return { cancel: () => {} }
    },
  }
  const config = Config.parse({
    workers: ['w1', 'w.2', '__proto__'].map((name) => ({ name, url: 'http://127.0.0.1:1' })),
  })
  const log = { event: () => {} }
  const deps = { clock, log, settings: () => config, bytesFlowing: () => false }
  const fleet = new Fleet(deps, config.workers)
  const performance = new WorkerPerformance(file, {
    fleet,
    clock,
    disk,
    onTrouble: (error) => troubles.push(error),
  })
  performance.start()
  return { fleet, performance, timers, troubles }
}

function learn({ fleet }: Rig, worker: string, model: string, outputTokens = 10): void {
  const sample = { promptTokens: 5, promptMs: 10, outputTokens, outputMs: 1000 }
  fleet.apply({ type: 'learned', worker, model, sample })
}

test('rates are there again after a restart, under names of any kind', async () => {
  const rig = start()
  const models = ['qwen3:8b', 'a.b/c:1', '__proto__', 'constructor', '7']
  const workers = ['w1', 'w.2', '__proto__']
  for (const worker of workers) for (const model of models) learn(rig, worker, model)
  assert.deepEqual(
    rig.timers.map(({ ms }) => ms),
    [10_000],
    'changes are gathered into one write',
  )
  await rig.performance.stop()
  const again = start()
  for (const name of workers) {
    const rates = again.fleet.worker(name)?.rates
    assert.deepEqual([...(rates?.keys() ?? [])].toSorted(), models.toSorted())
    assert.equal(rates?.get('__proto__')?.outputPerS, 10)
    assert.equal(rates?.get('qwen3:8b')?.promptPerS, 500)
  }
})

test('workers that the config has no longer keep their rates', async () => {
  const workers = { gone: { 'x:1': { output_per_s: 3, output_samples: 1, updated_at: 5 } } }
  writeFileSync(file, JSON.stringify({ version: 1, workers }))
  const rig = start()
  learn(rig, 'w1', 'x:1')
  await rig.performance.stop()
  const written = JSON.parse(readFileSync(file, 'utf8'))
  assert.equal(written.workers.gone['x:1'].output_per_s, 3)
  assert.equal(written.workers.w1['x:1'].output_per_s, 10)
})

test('a disk that fails is told once, disturbs nobody and loses nothing', async () => {
  let full = true
  const rig = start(
    watchedDisk(() => {
      if (full) throw diskError('ENOSPC')
    }),
  )
  learn(rig, 'w1', 'x:1')
  rig.timers[0]?.action()
  learn(rig, 'w.2', 'y:1')
  await new Promise((resolve) => setImmediate(resolve))
  rig.timers[1]?.action()
  await new Promise((resolve) => setImmediate(resolve))
  await rig.performance.stop()
  assert.equal(rig.troubles.length, 1)
  assert.match(rig.performance.trouble?.message ?? '', /worker-performance\.json.*disk is full/)
  full = false
  learn(rig, 'w1', 'x:1')
  await rig.performance.stop()
  assert.equal(rig.performance.trouble, undefined)
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(file, 'utf8')).workers), ['w1', 'w.2'])
})

const refused: [name: string, text: string, message: RegExp][] = [
  ['not JSON', '{"version":1,', /broken/],
  ['empty', '', /it is empty/],
  [
    'rates that are none',
    '{"version":1,"workers":{"w.1":{"x:1":{"updated_at":"x"}}}}',
    /workers\.w\.1\.x:1\.updated_at/,
  ],
  [
    'a newer version',
    '{"version":2,"workers":{}}',
    /newer ogw: it has version 2, this one knows 1/,
  ],
  ['no version', '{"workers":{}}', /version/],
]
for (const [name, text, message] of refused) {
  test(`the start is refused: ${name}`, () => {
    writeFileSync(file, text)
    assert.throws(start, (error) => {
      assert.ok(error instanceof StartError)
      assert.equal(error.exitCode, 78)
      assert.match(error.message, message)
      assert.ok(error.message.includes(file))
      return true
    })
    assert.equal(readFileSync(file, 'utf8'), text, 'the file is as it was')
  })
}

test('older documents are brought up step by step', () => {
  const versions = {
    version: 3,
    migrations: {
      1: ({ a }: Readonly<Record<string, unknown>>) => ({ b: a }),
      2: ({ b }: Readonly<Record<string, unknown>>) => ({ c: b }),
    },
  }
  assert.deepEqual(migrate({ version: 1, a: 7 }, versions), { version: 3, c: 7 })
  assert.deepEqual(migrate({ version: 3, c: 7 }, versions), { version: 3, c: 7 })
  assert.deepEqual(migrate({ version: 0 }, versions), { version: 0 }, 'for the schema to refuse')
})
