// A simulated worker as a process of its own: says where it listens in one line
// of JSON on stdout, and ends cleanly when it is told to.

import { readFile } from 'node:fs/promises'
import { specsOf } from './control.ts'
import type { ModelSpec } from './models.ts'
import { startSimulatedWorker, type WorkerOptions } from './worker.ts'

/** As the command line gives them: text, all optional. */
export interface SimulateWorkerArgs {
  host?: string
  port?: string
  versionProfile?: string
  /** A JSON file with a list of models, or names with commas between. */
  models?: string
  slots?: string
  maxLoaded?: string
  maxQueue?: string
  loadMs?: string
  prefillMs?: string
  tokenMs?: string
  tokens?: string
  keepAliveMs?: string
  defaultContext?: string
  seed?: string
  control?: boolean
}

/** Runs until SIGTERM or SIGINT, or until the parent that started it is gone. */
export async function runSimulatedWorker(args: SimulateWorkerArgs): Promise<void> {
  const options: WorkerOptions = {
    ...numbersOf(args),
    ...(args.host === undefined ? {} : { host: args.host }),
    ...(args.versionProfile === undefined ? {} : { version: args.versionProfile }),
    ...(args.models === undefined ? {} : { models: await readModels(args.models) }),
    control: args.control === true,
    onDie: () => process.exit(1),
  }
  const stopped = stopSignal()
  await using worker = await startSimulatedWorker(options)
  const { url, controlUrl } = worker
  process.stdout.write(`${JSON.stringify({ url, control_url: controlUrl, pid: process.pid })}\n`)
  await stopped
  // The channel to a parent would keep the process alive.
  if (process.connected) process.disconnect?.()
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
    // A worker of the demo must not outlive it, however the demo ends.
    process.once('disconnect', resolve)
  })
}

const NUMBERS = [
  'port',
  'slots',
  'maxLoaded',
  'maxQueue',
  'loadMs',
  'prefillMs',
  'tokenMs',
  'tokens',
  'keepAliveMs',
  'defaultContext',
  'seed',
] as const

function numbersOf(args: SimulateWorkerArgs): Partial<Record<(typeof NUMBERS)[number], number>> {
  const numbers: Partial<Record<(typeof NUMBERS)[number], number>> = {}
  for (const name of NUMBERS) {
    const text = args[name]
    if (text === undefined) continue
    const value = Number(text)
    if (!Number.isFinite(value) || value < 0) throw new Error(`${name} is not a number: ${text}`)
    numbers[name] = value
  }
  return numbers
}

async function readModels(given: string): Promise<readonly (ModelSpec | string)[]> {
  if (!given.endsWith('.json')) return specsOf(given.split(',').map((name) => name.trim()))
  const parsed: unknown = JSON.parse(await readFile(given, 'utf8'))
  return specsOf(parsed)
}
