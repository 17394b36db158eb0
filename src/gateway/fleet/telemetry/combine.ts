// From single GPUs and host memory to the figures of one worker, and one source over another.
// Pure. What nobody said stays undefined: a made-up zero would steer requests.

import type { GpuReading, Telemetry } from '../worker.ts'

export interface HostMemory {
  usedBytes: number
  totalBytes: number
}

/** What one source says of a machine. */
export interface Reading {
  gpus: readonly GpuReading[]
  memory: HostMemory | undefined
}

export const noReading: Reading = { gpus: [], memory: undefined }

/** Undefined where the sources say nothing at all. Values of `remote` override those of `local`. */
export function combine(local: Reading, remote: Reading): Telemetry | undefined {
  const here = telemetryOf(local)
  const there = telemetryOf(remote)
  const gpus = there.gpus.length > 0 ? there.gpus : here.gpus
  // Used and total of two sources would be a share of nothing: memory is taken in pairs.
  const vram = there.vramTotalBytes === undefined ? here : there
  const memory = there.memoryTotalBytes === undefined ? here : there
  const both: Telemetry = {
    vramUsedBytes: vram.vramUsedBytes,
    vramTotalBytes: vram.vramTotalBytes,
    vramReservedBytes: vram.vramReservedBytes,
    gpuUtilization: there.gpuUtilization ?? here.gpuUtilization,
    temperatureC: there.temperatureC ?? here.temperatureC,
    powerW: there.powerW ?? here.powerW,
    memoryUsedBytes: memory.memoryUsedBytes,
    memoryTotalBytes: memory.memoryTotalBytes,
    gpus,
  }
  const nothing = gpus.length === 0 && both.memoryTotalBytes === undefined
  return nothing ? undefined : both
}

function telemetryOf({ gpus, memory }: Reading): Telemetry {
  const known = gpus.filter(hasMemory)
  // One card that does not tell its memory makes a sum of the others a lie.
  const whole = known.length === gpus.length ? known : []
  return {
    vramUsedBytes: sum(whole.map(({ vramUsedBytes }) => vramUsedBytes)),
    vramTotalBytes: sum(whole.map(({ vramTotalBytes }) => vramTotalBytes)),
    vramReservedBytes: sum(whole.flatMap(({ vramReservedBytes }) => vramReservedBytes ?? [])),
    gpuUtilization: mean(gpus.flatMap(({ utilization }) => utilization ?? [])),
    temperatureC: highest(gpus.flatMap(({ temperatureC }) => temperatureC ?? [])),
    powerW: sum(gpus.flatMap(({ powerW }) => powerW ?? [])),
    memoryUsedBytes: memory?.usedBytes,
    memoryTotalBytes: memory?.totalBytes,
    gpus,
  }
}

function hasMemory(
  gpu: GpuReading,
): gpu is GpuReading & { vramUsedBytes: number; vramTotalBytes: number } {
  return gpu.vramUsedBytes !== undefined && (gpu.vramTotalBytes ?? 0) > 0
}

function sum(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((total, one) => total + one, 0)
}

function mean(values: readonly number[]): number | undefined {
  const total = sum(values)
  return total === undefined ? undefined : total / values.length
}

function highest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.max(...values)
}
