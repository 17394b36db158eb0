// What each exporter calls its figures, as a table, and how a page of one becomes a reading. Pure.

import type { GpuReading } from '../worker.ts'
import type { HostMemory, Reading } from './combine.ts'
import { parsePrometheusText } from './prometheus-text.ts'
import type { TextSample } from './prometheus-text.ts'

type Figure = Exclude<keyof GpuReading, 'id' | 'index' | 'name'> | 'vramFreeBytes'

interface Source {
  name: string
  figure: Figure
  /** To bytes, watts, degrees Celsius, or a share of 1. */
  scale: number
}

interface Exporter {
  /** As people call it. */
  is: string
  /** The first that a page has wins, where several give one figure. */
  sources: readonly Source[]
  /** Labels that tell GPUs apart, the best first. */
  idLabels: readonly string[]
  indexLabels: readonly string[]
  nameLabels: readonly string[]
}

const MIB = 1024 * 1024
const PERCENT = 0.01

const source = (name: string, figure: Figure, scale = 1): Source => ({ name, figure, scale })

const EXPORTERS: readonly Exporter[] = [
  {
    is: 'dcgm-exporter',
    sources: [
      source('DCGM_FI_DEV_GPU_UTIL', 'utilization', PERCENT),
      // With MIG there is no utilization of the whole, but this.
      source('DCGM_FI_PROF_GR_ENGINE_ACTIVE', 'utilization'),
      source('DCGM_FI_DEV_FB_USED', 'vramUsedBytes', MIB),
      source('DCGM_FI_DEV_FB_FREE', 'vramFreeBytes', MIB),
      source('DCGM_FI_DEV_FB_RESERVED', 'vramReservedBytes', MIB),
      source('DCGM_FI_DEV_GPU_TEMP', 'temperatureC'),
      source('DCGM_FI_DEV_POWER_USAGE', 'powerW'),
    ],
    idLabels: ['UUID', 'device', 'gpu'],
    indexLabels: ['gpu'],
    nameLabels: ['modelName'],
  },
  {
    is: 'nvidia_gpu_exporter',
    sources: [
      source('nvidia_smi_utilization_gpu_ratio', 'utilization'),
      source('nvidia_smi_memory_used_bytes', 'vramUsedBytes'),
      source('nvidia_smi_memory_total_bytes', 'vramTotalBytes'),
      source('nvidia_smi_memory_reserved_bytes', 'vramReservedBytes'),
      source('nvidia_smi_temperature_gpu', 'temperatureC'),
      source('nvidia_smi_power_draw_watts', 'powerW'),
    ],
    idLabels: ['uuid'],
    indexLabels: ['index'],
    nameLabels: ['name'],
  },
  {
    is: 'all-smi',
    sources: [
      source('all_smi_gpu_utilization', 'utilization', PERCENT),
      source('all_smi_gpu_memory_used_bytes', 'vramUsedBytes'),
      source('all_smi_gpu_memory_total_bytes', 'vramTotalBytes'),
      source('all_smi_gpu_temperature_celsius', 'temperatureC'),
      source('all_smi_gpu_power_consumption_watts', 'powerW'),
    ],
    idLabels: ['gpu_uuid', 'uuid', 'gpu_index'],
    indexLabels: ['gpu_index'],
    nameLabels: ['gpu'],
  },
  {
    is: 'AMD device-metrics-exporter',
    sources: ['', 'amd_'].flatMap((prefix) => [
      source(`${prefix}gpu_gfx_activity`, 'utilization', PERCENT),
      source(`${prefix}gpu_used_vram`, 'vramUsedBytes', MIB),
      source(`${prefix}gpu_total_vram`, 'vramTotalBytes', MIB),
      source(`${prefix}gpu_junction_temperature`, 'temperatureC'),
      source(`${prefix}gpu_edge_temperature`, 'temperatureC'),
      source(`${prefix}gpu_package_power`, 'powerW'),
      source(`${prefix}gpu_average_package_power`, 'powerW'),
    ]),
    idLabels: ['gpu_uuid', 'serial_number', 'gpu_id'],
    indexLabels: ['gpu_id'],
    nameLabels: ['card_model', 'card_series'],
  },
  {
    is: 'node_exporter',
    sources: [
      source('node_drm_gpu_busy_percent', 'utilization', PERCENT),
      source('node_drm_memory_vram_used_bytes', 'vramUsedBytes'),
      source('node_drm_memory_vram_size_bytes', 'vramTotalBytes'),
    ],
    idLabels: ['card'],
    indexLabels: [],
    nameLabels: ['card'],
  },
]

const HOST_USED = ['node_memory_MemTotal_bytes', 'all_smi_memory_total_bytes'] as const
const HOST_AVAILABLE = ['node_memory_MemAvailable_bytes', 'all_smi_memory_available_bytes'] as const

const WANTED: ReadonlySet<string> = new Set([
  ...EXPORTERS.flatMap(({ sources }) => sources.map(({ name }) => name)),
  ...HOST_USED,
  ...HOST_AVAILABLE,
])

/** No GPU of today is beyond these; DCGM says "blank" with huge numbers. */
const MOST: Readonly<Record<Figure, number>> = {
  utilization: 1,
  vramUsedBytes: 2 ** 46,
  vramTotalBytes: 2 ** 46,
  vramFreeBytes: 2 ** 46,
  vramReservedBytes: 2 ** 46,
  temperatureC: 200,
  powerW: 20_000,
}

/** Everything that any of the exporters says. Empty where the page is none of theirs. */
export function readExporterPage(text: string): Reading {
  const samples = parsePrometheusText(text, (name) => WANTED.has(name))
  return {
    gpus: EXPORTERS.flatMap((exporter) => gpusOf(exporter, samples)),
    memory: memoryOf(samples),
  }
}

type Figures = Partial<Record<Figure, number>>

function gpusOf(exporter: Exporter, samples: readonly TextSample[]): GpuReading[] {
  const found = new Map<string, { labels: TextSample['labels']; figures: Figures }>()
  for (const { name, figure, scale } of exporter.sources) {
    for (const sample of samples) {
      // An instance cut from a GPU repeats the figures of the whole.
      if (sample.name !== name || (sample.labels['GPU_I_ID'] ?? '') !== '') continue
      const id = firstOf(sample.labels, exporter.idLabels) ?? ''
      const gpu = found.get(id) ?? { labels: sample.labels, figures: {} }
      const value = sample.value * scale
      if (value >= 0 && value <= MOST[figure]) gpu.figures[figure] ??= value
      found.set(id, gpu)
    }
  }
  return [...found].map(([id, { labels, figures }]) => gpuOf(exporter, id, { labels, figures }))
}

function gpuOf(
  exporter: Exporter,
  id: string,
  { labels, figures }: { labels: TextSample['labels']; figures: Figures },
): GpuReading {
  const { vramUsedBytes, vramFreeBytes, vramReservedBytes } = figures
  const added =
    vramUsedBytes === undefined || vramFreeBytes === undefined
      ? undefined
      : vramUsedBytes + vramFreeBytes + (vramReservedBytes ?? 0)
  const total = figures.vramTotalBytes ?? added
  const index = Number(firstOf(labels, exporter.indexLabels) ?? Number.NaN)
  return {
    id: idOf(exporter, id),
    index: Number.isInteger(index) ? index : undefined,
    name: firstOf(labels, exporter.nameLabels) ?? '',
    utilization: figures.utilization,
    vramUsedBytes,
    vramTotalBytes: total === 0 ? undefined : total,
    vramReservedBytes,
    temperatureC: figures.temperatureC,
    powerW: figures.powerW,
  }
}

/** nvidia_gpu_exporter writes uuids without their beginning. */
function idOf({ is }: Exporter, id: string): string {
  const bare = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(id)
  if (bare) return `GPU-${id}`
  return id.startsWith('GPU-') ? id : `${is}-${id}`
}

function memoryOf(samples: readonly TextSample[]): HostMemory | undefined {
  const valueOf = (names: readonly string[]): number | undefined =>
    samples.find(({ name }) => names.includes(name))?.value
  const total = valueOf(HOST_USED)
  const available = valueOf(HOST_AVAILABLE)
  if (total === undefined || available === undefined || total <= 0) return undefined
  return { usedBytes: Math.max(0, total - available), totalBytes: total }
}

function firstOf(labels: TextSample['labels'], names: readonly string[]): string | undefined {
  return names.map((name) => labels[name]).find((value) => value !== undefined && value !== '')
}
