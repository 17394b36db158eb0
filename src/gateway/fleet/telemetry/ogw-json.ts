// The JSON in which one ogw tells another about its machine (`/telemetry` of the ops listener),
// and the flat form of it that a script of a few lines can write.

import { z } from 'zod'
import type { GpuReading } from '../worker.ts'
import type { Reading } from './combine.ts'

const Bytes = z
  .number()
  .min(0)
  .max(2 ** 50)
  .nullish()
  .catch(null)
const Figures = {
  vram_used_bytes: Bytes,
  vram_total_bytes: Bytes,
  vram_reserved_bytes: Bytes,
  temperature_c: z.number().min(-100).max(200).nullish().catch(null),
  power_w: z.number().min(0).max(20_000).nullish().catch(null),
}
const Share = z.number().min(0).max(1).nullish().catch(null)

/** A figure that makes no sense says nothing; the others stay. */
const Page = z.object({
  ...Figures,
  /** 0 to 1. */
  gpu_utilization: Share,
  /** 0 to 100, as other tools write it. */
  gpu_util: z.number().min(0).max(100).nullish().catch(null),
  memory_used_bytes: Bytes,
  memory_total_bytes: Bytes,
  gpus: z
    .array(
      z.object({
        ...Figures,
        id: z.string().max(200),
        index: z.int().min(0).max(9_999).nullish().catch(null),
        name: z.string().max(200).catch(''),
        utilization: Share,
      }),
    )
    .max(64)
    .optional()
    .catch(undefined),
})

/** Undefined where it is no such document. */
export function readOgwJson(document: unknown): Reading | undefined {
  const page = Page.safeParse(document)
  if (!page.success) return undefined
  const { data } = page
  const used = data.memory_used_bytes ?? undefined
  const total = data.memory_total_bytes ?? undefined
  const memory =
    used === undefined || total === undefined || total === 0
      ? undefined
      : { usedBytes: used, totalBytes: total }
  const gpus = data.gpus?.map(gpuOf) ?? flatGpu(data)
  return gpus.length === 0 && memory === undefined ? undefined : { gpus, memory }
}

type PageData = z.infer<typeof Page>
type GpuData = NonNullable<PageData['gpus']>[number]

function gpuOf(gpu: GpuData): GpuReading {
  return {
    id: gpu.id,
    index: gpu.index ?? undefined,
    name: gpu.name,
    utilization: gpu.utilization ?? undefined,
    vramUsedBytes: gpu.vram_used_bytes ?? undefined,
    vramTotalBytes: gpu.vram_total_bytes === 0 ? undefined : (gpu.vram_total_bytes ?? undefined),
    vramReservedBytes: gpu.vram_reserved_bytes ?? undefined,
    temperatureC: gpu.temperature_c ?? undefined,
    powerW: gpu.power_w ?? undefined,
  }
}

function flatGpu({ gpu_utilization, gpu_util, ...page }: PageData): GpuReading[] {
  const percent = gpu_util ?? undefined
  const utilization = gpu_utilization ?? (percent === undefined ? undefined : percent / 100)
  const gpu = gpuOf({ ...page, id: 'gpu', index: null, name: '', utilization })
  const says = [gpu.utilization, gpu.vramUsedBytes, gpu.temperatureC, gpu.powerW]
  return says.some((figure) => figure !== undefined) ? [gpu] : []
}

/** What this machine tells another ogw. */
export function ogwJson({ gpus, memory }: Reading): unknown {
  return {
    memory_used_bytes: memory?.usedBytes ?? null,
    memory_total_bytes: memory?.totalBytes ?? null,
    gpus: gpus.map((gpu) => ({
      id: gpu.id,
      index: gpu.index ?? null,
      name: gpu.name,
      utilization: gpu.utilization ?? null,
      vram_used_bytes: gpu.vramUsedBytes ?? null,
      vram_total_bytes: gpu.vramTotalBytes ?? null,
      vram_reserved_bytes: gpu.vramReservedBytes ?? null,
      temperature_c: gpu.temperatureC ?? null,
      power_w: gpu.powerW ?? null,
    })),
  }
}
