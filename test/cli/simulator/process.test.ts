// A simulated worker as a process: what a shell, the demo and the process tests rely
// on is the one line it prints, a clean end, and that nothing outlives its parent.

import assert from 'node:assert/strict'
import { fork, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, test } from 'node:test'
import { demoInventories } from '../../../src/cli/simulator/demo-models.ts'
import { startDemoFleet } from '../../../src/cli/simulator/fleet.ts'
import { ask } from '../../support/sim-client.ts'
import { until } from '../../support/until.ts'

const MAIN = 'dist/src/cli/main.js'

const children: ChildProcess[] = []

/** A test that fails half-way leaves no worker: it would keep this process from ending. */
function started<C extends ChildProcess>(child: C): C {
  children.push(child)
  return child
}
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** How it ended, also where that is over already. */
async function exitOf(child: ChildProcess): Promise<[number | null, string | null]> {
  const over = () => child.exitCode !== null || child.signalCode !== null
  await until(over, { what: 'the worker to end', timeoutMs: 30_000 })
  return [child.exitCode, child.signalCode]
}

async function firstLine(
  stdout: NodeJS.ReadableStream,
): Promise<{ url: string; control_url?: string }> {
  let text = ''
  stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await until(() => text.includes('\n'), { what: 'the line of a worker', timeoutMs: 30_000 })
  return JSON.parse(text) as { url: string; control_url?: string }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    // No such process is what is asked.
    return false
  }
}

test('it says where it listens, takes its options, and ends cleanly', async () => {
  const args = [
    '--models',
    'x:1b,y:1b',
    '--version-profile',
    '0.24.0',
    '--tokens',
    '3',
    '--token-ms',
    '0',
    '--load-ms',
    '1',
    '--control',
  ]
  const child = started(
    spawn(process.execPath, [MAIN, 'simulate-worker', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  )
  const { url, control_url: control = '' } = await firstLine(child.stdout)
  assert.equal((await ask(url, '/api/version').answer).text, '{"version":"0.24.0"}')
  const body = { model: 'y:1b', messages: [{ role: 'user', content: 'hi' }] }
  assert.equal((await ask(url, '/api/chat', body).answer).text.trim().split('\n').length, 4)
  // Whoever switches a fault on or off goes on at once: what is told holds when it is answered.
  for (let round = 0; round < 30; round += 1) {
    await ask(control, '/_sim/faults', { kind: 'refuse' }).answer
    await assert.rejects(ask(url, '/api/version').answer)
    await ask(control, '/_sim/faults', undefined, 'DELETE').answer
    assert.equal((await ask(url, '/api/version').answer).status, 200)
  }
  child.kill('SIGTERM')
  assert.deepEqual(await exitOf(child), [0, null])
})

test('a wrong option is said', async () => {
  const child = started(
    spawn(process.execPath, [MAIN, 'simulate-worker', '--slots', 'many'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  )
  let words = ''
  child.stderr.on('data', (chunk: Buffer) => (words += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  assert.notEqual(code, 0)
  assert.match(words, /slots/u)
})

test('a worker with a channel to its parent ends when the channel does, and when it is told', async () => {
  for (const end of ['disconnect', 'kill'] as const) {
    const child = started(
      fork(MAIN, ['simulate-worker'], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] }),
    )
    assert.ok(child.stdout)
    await firstLine(child.stdout)
    child[end]()
    assert.deepEqual(await exitOf(child), [0, null], end)
  }
})

test('the demo fleet starts, answers and is gone', async () => {
  const fleet = await startDemoFleet({ workers: 3, models: 12 })
  const pids = fleet.workers.map(({ pid }) => pid)
  try {
    assert.deepEqual(
      fleet.workers.map(({ name }) => name),
      ['node-1', 'node-2', 'node-3'],
    )
    for (const { url } of fleet.workers) {
      const { models } = JSON.parse((await ask(url, '/api/tags').answer).text) as {
        models: unknown[]
      }
      assert.ok(models.length >= 4)
    }
  } finally {
    await fleet.stop()
  }
  assert.deepEqual(pids.filter(isAlive), [])
})

test('the inventories of a fleet overlap, drift once, and are the same for one seed', () => {
  const inventories = demoInventories(12, 300, 1)
  assert.deepEqual(inventories, demoInventories(12, 300, 1))
  const names = inventories.flat().map(({ name }) => name)
  assert.equal(new Set(names).size, 300)
  assert.ok(names.length > 350)
  const digests = new Set(inventories.map(([first]) => first?.digest))
  assert.equal(digests.size, 2)
  for (const [workers, models] of [
    [1, 1],
    [1, 5],
    [2, 3],
    [40, 20],
  ] as const) {
    const small = demoInventories(workers, models, 1)
    assert.equal(small.length, workers)
    assert.ok(new Set(small.flat().map(({ name }) => name)).size <= models)
  }
})

test('a demo fleet that cannot be started says why and leaves nothing behind', async (t) => {
  const { execPath } = process
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-fleet-'))
  const { TMPDIR } = process.env
  t.after(() => {
    process.execPath = execPath
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
    rmSync(folder, { recursive: true })
  })
  process.execPath = path.join(folder, 'no-such-node')
  process.env['TMPDIR'] = folder
  await assert.rejects(startDemoFleet({ workers: 1, models: 2 }), /no-such-node ENOENT/)
  assert.deepEqual(readdirSync(folder), [])
})
