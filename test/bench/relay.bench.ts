// CPU per relayed chunk: 200 streams, one chunk of about 150 bytes each 10 ms. This is what a gateway
// in front of models does all day.

import type { BenchRow } from './bench.ts'
import { cpuSeconds } from './rig/proc.ts'
import { compared, inYard, medians, pause, type Yard } from './rig/rounds.ts'
import type { Target } from './rig/targets.ts'

const STREAMS = 200
const ROUNDS = 3
const WARM_UP_MS = 500
const WINDOW_MS = 2_500
/** A relay that delivered less than this of what was sent cannot be compared. */
const LEAST_DELIVERED = 0.9

export async function run(): Promise<BenchRow[]> {
  return await inYard(async (yard) => {
    const results = await medians(yard.targets, ROUNDS, (target) => chunkCost(yard, target))
    return [
      ...compared('CPU per chunk', results, [
        { to: 'nginx', most: 2.5, note: ' (aim 1.8)' },
        { to: 'bare relay', most: 1 },
      ]),
      ...yard.missing,
    ]
  })
}

/** Microseconds a chunk. */
async function chunkCost({ load, worker }: Yard, { name, pid, port }: Target): Promise<number> {
  await load.call('open', { port, streams: STREAMS })
  await pause(WARM_UP_MS)
  const before = { sent: await worker.call('sent'), got: await load.call('received') }
  const cpuBefore = cpuSeconds(pid)
  await pause(WINDOW_MS)
  const cpu = cpuSeconds(pid) - cpuBefore
  const chunks = (await worker.call('sent')) - before.sent
  const bytes = (await load.call('received')) - before.got
  await load.call('close')
  if (bytes / chunks < LEAST_DELIVERED * CHUNK_BYTES) {
    throw new Error(`${name} delivered ${bytes} bytes of ${chunks} chunks`)
  }
  return (cpu * 1e6) / chunks
}

/** The line that the worker of the rig sends, without framing. */
const CHUNK_BYTES = 140
