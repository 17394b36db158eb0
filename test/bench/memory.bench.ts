// Memory at rest with a large fleet, and what each open stream adds.

import type { BenchRow } from './bench.ts'
import { startHelper } from './rig/helper.ts'
import type { LoadFunctions } from './rig/load-process.ts'
import { residentBytes } from './rig/proc.ts'
import { median, pause, tagsOf } from './rig/rounds.ts'
import { startOgw } from './rig/targets.ts'
import type { WorkerFunctions } from './rig/worker-process.ts'

const WORKERS = 200
const MODELS = 500
const STREAMS = 1_000
/** Slow enough that the machine keeps up, fast enough that buffers are in use. */
const STREAM_PACE_MS = 200
/** Four rounds of probes: what the start left in memory is collected by then. */
const SETTLE_MS = 20_000
const STREAM_SETTLE_MS = 6_000
const SAMPLES = 9

export async function run(): Promise<BenchRow[]> {
  await using stack = new AsyncDisposableStack()
  const worker = stack.use(startHelper<WorkerFunctions>('worker-process'))
  const load = stack.use(startHelper<LoadFunctions>('load-process'))
  const names = ['stream:latest', ...Array.from({ length: MODELS - 1 }, (_, i) => `model-${i}:8b`)]
  const workers = await worker.call('listen', { count: WORKERS, models: tagsOf(names) })
  const ogw = stack.use(await startOgw({ workers, model: 'stream:latest' }))
  await pause(SETTLE_MS)
  const rest = await resident(ogw.pid)
  await worker.call('pace', STREAM_PACE_MS)
  await load.call('open', { port: ogw.port, streams: STREAMS })
  await pause(STREAM_SETTLE_MS)
  const busy = await resident(ogw.pid)
  await load.call('close')
  return [
    {
      name: 'resident at rest',
      value: rest / 2 ** 20,
      unit: 'MiB',
      note: `${WORKERS} workers × ${MODELS} models, bound 120`,
    },
    {
      name: 'resident for each open stream',
      value: (busy - rest) / STREAMS / 1024,
      unit: 'KiB',
      note: `${STREAMS} streams, bound 60`,
    },
  ]
}

async function resident(pid: number): Promise<number> {
  const samples: number[] = []
  for (let index = 0; index < SAMPLES; index += 1) {
    samples.push(residentBytes(pid))
    await pause(100)
  }
  return median(samples)
}
