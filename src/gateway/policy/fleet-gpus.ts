// The GPUs of a fleet, each once: workers of one machine may share one, and a sum over workers
// would then count it twice. Pure.

import type { GpuReading, Worker } from '../fleet/worker.ts'

export interface FleetGpus {
  count: number
  /** Undefined where no GPU tells it. */
  vramUsedBytes: number | undefined
  vramTotalBytes: number | undefined
  powerW: number | undefined
  /** Of the hottest. */
  temperatureC: number | undefined
}

export function fleetGpus(workers: readonly Worker[]): FleetGpus {
  const all = workers.flatMap(({ telemetry }) => telemetry?.gpus ?? [])
  const gpus = [...new Map(all.map((gpu) => [gpu.id, gpu])).values()]
  const known = gpus.filter(
    ({ vramUsedBytes, vramTotalBytes }) =>
      vramUsedBytes !== undefined && vramTotalBytes !== undefined,
  )
  return {
    count: gpus.length,
    vramUsedBytes: sumOf(known, ({ vramUsedBytes }) => vramUsedBytes),
    vramTotalBytes: sumOf(known, ({ vramTotalBytes }) => vramTotalBytes),
    powerW: sumOf(gpus, ({ powerW }) => powerW),
    temperatureC: highest(gpus.flatMap(({ temperatureC }) => temperatureC ?? [])),
  }
}

function sumOf(
  gpus: readonly GpuReading[],
  read: (gpu: GpuReading) => number | undefined,
): number | undefined {
  const values = gpus.flatMap((gpu) => read(gpu) ?? [])
  return values.length === 0 ? undefined : values.reduce((sum, one) => sum + one, 0)
}

function highest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.max(...values)
}
