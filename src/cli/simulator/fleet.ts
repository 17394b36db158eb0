// The demo fleet: simulated workers, each a process of its own, so that one can be
// killed as a real machine would be.

import { fork, spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { demoInventories } from './demo-models.ts'

export interface DemoFleetOptions {
  /** Number of workers. */
  workers: number
  /** Different models in the whole fleet, about. */
  models: number
  /** Default 1. */
  seed?: number
  /** Milliseconds of a load. Default 400. */
  loadMs?: number
  /** Milliseconds between two words. Default 20. */
  tokenMs?: number
  /** Words of an answer. Default 60. */
  tokens?: number
}

export interface DemoWorker {
  /** `node-1`, `node-2`, … */
  name: string
  url: string
  pid: number
}

export interface DemoFleet {
  workers: readonly DemoWorker[]
  /** Ends every worker and waits until all are gone. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A worker that has not said where it listens by then is not going to. */
const START_TIMEOUT_MS = 30_000

/** Started at once; more would only take turns on the processors. */
const START_TOGETHER = 4

/** Time for a clean end before the process is killed. */
const STOP_TIMEOUT_MS = 3000

/** Keeps each process small: its heap need not grow to answer a few requests. */
const SMALL_HEAP = ['--max-old-space-size=96', '--max-semi-space-size=1']

export async function startDemoFleet(options: DemoFleetOptions): Promise<DemoFleet> {
  const folder = await mkdtemp(join(tmpdir(), 'ogw-demo-'))
  const children: ChildProcess[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(endOf))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const workers = await startAll(options, folder, children)
    return { workers, stop, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startAll(
  options: DemoFleetOptions,
  folder: string,
  children: ChildProcess[],
): Promise<DemoWorker[]> {
  const inventories = demoInventories(options.workers, options.models, options.seed ?? 1)
  const workers: DemoWorker[] = []
  for (let first = 0; first < inventories.length; first += START_TOGETHER) {
    const batch = inventories.slice(first, first + START_TOGETHER)
    const started = batch.map(async (models, offset) => {
      const number = first + offset + 1
      const file = join(folder, `node-${number}.json`)
      await writeFile(file, JSON.stringify(models))
      const child = forkWorker(options, file, number)
      // One that could not be started has no end to wait for; why it could not is thrown.
      if (child.pid !== undefined) children.push(child)
      await once(child, 'spawn')
      return { name: `node-${number}`, ...(await listening(child)) }
    })
    workers.push(...(await Promise.all(started)))
  }
  return workers
}

function forkWorker(options: DemoFleetOptions, file: string, number: number): ChildProcess {
  const { seed = 1, loadMs = 400, tokenMs = 20, tokens = 60 } = options
  const args = ['simulate-worker', '--models', file, '--seed', String(seed * 1000 + number)]
  const pace = ['--load-ms', loadMs, '--token-ms', tokenMs, '--tokens', tokens, '--slots', 2]
  const words = [...args, ...pace.map(String)]
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit', 'ipc']
  // The single-file executable is the program itself; there is no file to name.
  const isWhole = process.getBuiltinModule('node:sea').isSea()
  if (isWhole) return spawn(process.execPath, words, { stdio })
  const main = fileURLToPath(new URL('../main.js', import.meta.url))
  return fork(main, words, { stdio, execArgv: SMALL_HEAP })
}

/** The line of JSON that a worker prints when it listens. */
async function listening(child: ChildProcess): Promise<{ url: string; pid: number }> {
  const { stdout } = child
  if (stdout === null) throw new Error('a worker was started without a pipe to read from')
  const timer = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT_MS)
  try {
    let text = ''
    for await (const chunk of stdout as AsyncIterable<Buffer>) {
      text += chunk.toString()
      const end = text.indexOf('\n')
      if (end < 0) continue
      const line: unknown = JSON.parse(text.slice(0, end))
      if (typeof line === 'object' && line !== null && 'url' in line) {
        return { url: String(line.url), pid: child.pid ?? 0 }
      }
    }
  } finally {
    clearTimeout(timer)
  }
  throw new Error('a simulated worker ended before it listened')
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await gone
  clearTimeout(timer)
}
