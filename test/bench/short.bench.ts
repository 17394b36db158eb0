// CPU per short request: one small question, one small answer with a length, at the same rate for
// all.

import type { BenchRow } from './bench.ts'
import { cpuSeconds } from './rig/proc.ts'
import { compared, inYard, medians, type Yard } from './rig/rounds.ts'
import type { Target } from './rig/targets.ts'

const ROUNDS = 3
const LOAD = { connections: 32, perSecond: 1_500, ms: 2_500 }
/** As fast as it goes: compiled code is the state of a gateway that has run for a minute. */
const WARM_UP = { connections: 32, perSecond: 1_000_000, ms: 6_000 }

export async function run(): Promise<BenchRow[]> {
  return await inYard(async (yard) => {
    const results = await medians(yard.targets, ROUNDS, (target, warmUp) =>
      requestCost(yard, target, warmUp ? WARM_UP : LOAD),
    )
    return [
      ...compared('CPU per short request', results, [
        { to: 'nginx', most: 5, note: ' (aim 4)' },
        { to: 'bare relay', most: 1.4 },
      ]),
      ...yard.missing,
    ]
  })
}

/** Microseconds a request. */
async function requestCost(
  { load }: Yard,
  { pid, port }: Target,
  pace: typeof LOAD,
): Promise<number> {
  const before = cpuSeconds(pid)
  const count = await load.call('short', { port, ...pace })
  return ((cpuSeconds(pid) - before) * 1e6) / count
}
