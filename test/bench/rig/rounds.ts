// Side by side in one run: targets take turns in rounds, so that a machine that is slow for a while
// is slow for all of them. Absolute times drift, ratios of one run hold.

import type { BenchRow } from '../bench.ts'
import { type Helper, startHelper } from './helper.ts'
import type { LoadFunctions } from './load-process.ts'
import { startBareRelay, startNginx, startOgw, type Target } from './targets.ts'
import type { WorkerFunctions } from './worker-process.ts'

export interface Yard {
  worker: Helper<WorkerFunctions>
  load: Helper<LoadFunctions>
  /** Where the worker itself listens. */
  workerPort: number
  targets: readonly Target[]
  /** Rows that say which yardstick is missing, and why. */
  missing: readonly BenchRow[]
}

const MODELS = ['stream:latest', 'one:latest', 'first:latest']

/** Starts everything, runs the benchmark, and ends everything. */
export async function inYard(run: (yard: Yard) => Promise<BenchRow[]>): Promise<BenchRow[]> {
  await using stack = new AsyncDisposableStack()
  const worker = stack.use(startHelper<WorkerFunctions>('worker-process'))
  const load = stack.use(startHelper<LoadFunctions>('load-process'))
  const [port] = await worker.call('listen', { count: 1, models: tagsOf(MODELS) })
  const workerPort = port!
  const nginx = await startNginx(workerPort)
  const targets = [
    ...(nginx === undefined ? [] : [stack.use(nginx)]),
    stack.use(await startBareRelay(workerPort, 'plain')),
    stack.use(await startBareRelay(workerPort, 'framed')),
    stack.use(await startOgw({ workers: [workerPort], model: MODELS[0]! })),
  ]
  const missing = nginx === undefined ? [NO_NGINX] : []
  return await run({ worker, load, workerPort, targets, missing })
}

const NO_NGINX: BenchRow = {
  name: 'nginx',
  value: NaN,
  unit: '',
  note: 'not installed (apt-get install nginx-light), so that its ratio is missing',
}

export function tagsOf(names: readonly string[]): string {
  const models = names.map((name, index) => ({
    name,
    model: name,
    modified_at: '2026-05-01T12:00:00.123456789Z',
    size: 5_225_388_164 + index,
    digest: index.toString(16).padStart(64, 'a'),
    details: {
      parent_model: '',
      format: 'gguf',
      family: 'qwen3',
      families: ['qwen3'],
      parameter_size: '8.2B',
      quantization_level: 'Q4_K_M',
    },
  }))
  return JSON.stringify({ models })
}

/** Median of what each target measures over the rounds; a first round warms up and is not counted. */
export async function medians(
  targets: readonly Target[],
  rounds: number,
  measure: (target: Target, warmUp: boolean) => Promise<number>,
): Promise<ReadonlyMap<string, number>> {
  const values = new Map<string, number[]>(targets.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round += 1) {
    for (const target of targets) {
      const value = await measure(target, round === 0)
      if (round > 0) values.get(target.name)!.push(value)
    }
  }
  return new Map([...values].map(([name, list]) => [name, median(list)]))
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}

export interface Bound {
  /** Name of the yardstick. */
  to: string
  /** Most times the yardstick. */
  most: number
  note?: string
}

/** One row for each target, then ogw's ratio to each yardstick that was there. */
export function compared(
  what: string,
  results: ReadonlyMap<string, number>,
  bounds: readonly Bound[],
): BenchRow[] {
  const ogw = results.get('ogw') ?? NaN
  const rows = [...results].map(([name, value]) => ({
    name: `${what}: ${name}`,
    value,
    unit: 'µs',
    note: '',
  }))
  const ratios = bounds
    .filter(({ to }) => results.has(to))
    .map(({ to, most, note = '' }) => {
      const value = ogw / results.get(to)!
      const verdict = value <= most ? 'holds' : 'DOES NOT HOLD'
      return {
        name: `${what}: ogw ÷ ${to}`,
        value,
        unit: '×',
        note: `bound ${most}${note}: ${verdict}`,
      }
    })
  return [...rows, ...ratios]
}

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}
