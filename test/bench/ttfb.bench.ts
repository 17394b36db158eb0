// Time that is added before the first byte of a streamed answer, on an idle machine.

import type { BenchRow } from './bench.ts'
import { inYard, median } from './rig/rounds.ts'

const REQUESTS = 400
const WARM_UP = 200
const MOST_MS = 0.4

export async function run(): Promise<BenchRow[]> {
  return await inYard(async ({ load, workerPort, targets, missing }) => {
    const ports = [workerPort, ...targets.map(({ port }) => port)]
    await load.call('firstBytes', { ports, count: WARM_UP })
    const times = await load.call('firstBytes', { ports, count: REQUESTS })
    const [direct = NaN, ...others] = times.map(median)
    return [
      { name: 'first byte, p50: direct', value: direct, unit: 'ms', note: '' },
      ...others.map((value, index) => ({
        name: `first byte, p50, added: ${targets[index]!.name}`,
        value: value - direct,
        unit: 'ms',
        note: targets[index]!.name === 'ogw' ? `bound ${MOST_MS}` : '',
      })),
      ...missing,
    ]
  })
}
