// AMD GPUs of the gateway's own machine, from the files of their driver: no tool, no process.

import { readdir, readFile, realpath } from 'node:fs/promises'
import path from 'node:path'
import type { GpuReading } from '../worker.ts'

const SYSTEM = '/sys/class/drm'
const AMD = '0x1002'
/** Cards beyond these are not read. */
const MAX_CARDS = 64

/** Empty where there are none. */
export async function readAmdGpus(root = SYSTEM): Promise<GpuReading[]> {
  const names = await namesIn(root)
  const cards = names.filter((name) => /^card\d+$/.test(name)).slice(0, MAX_CARDS)
  const read = await Promise.all(cards.map((card) => readCard(path.join(root, card, 'device'))))
  return read.flatMap((gpu) => gpu ?? []).toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

async function readCard(device: string): Promise<GpuReading | undefined> {
  if ((await textIn(device, 'vendor')) !== AMD) return undefined
  const figure = async (name: string): Promise<number | undefined> =>
    figureOf(await textIn(device, name))
  const [load, used, total, name, slot, sensors] = await Promise.all([
    figure('gpu_busy_percent'),
    figure('mem_info_vram_used'),
    figure('mem_info_vram_total'),
    textIn(device, 'product_name'),
    realpath(device).catch(() => device),
    readSensors(device),
  ])
  // A display adapter without memory figures is another driver's.
  if (load === undefined && total === undefined) return undefined
  return {
    id: `amd-${path.basename(slot)}`,
    index: undefined,
    name: name === '' ? 'AMD GPU' : name,
    utilization: load === undefined || load > 100 ? undefined : load / 100,
    vramUsedBytes: used,
    vramTotalBytes: total === 0 ? undefined : total,
    vramReservedBytes: undefined,
    ...sensors,
  }
}

/** Millidegrees and microwatts. */
async function readSensors(device: string): Promise<Pick<GpuReading, 'temperatureC' | 'powerW'>> {
  const [first] = await namesIn(path.join(device, 'hwmon'))
  if (first === undefined) return { temperatureC: undefined, powerW: undefined }
  const folder = path.join(device, 'hwmon', first)
  const [heat, mean, now] = await Promise.all(
    ['temp1_input', 'power1_average', 'power1_input'].map(async (name) =>
      figureOf(await textIn(folder, name)),
    ),
  )
  const power = mean ?? now
  return {
    temperatureC: heat === undefined ? undefined : heat / 1_000,
    powerW: power === undefined ? undefined : power / 1_000_000,
  }
}

function figureOf(text: string): number | undefined {
  return /^\d{1,16}$/.test(text) ? Number(text) : undefined
}

async function textIn(folder: string, name: string): Promise<string> {
  // Which of these files exist depends on card and kernel; a missing one says nothing.
  return (await readFile(path.join(folder, name), 'utf8').catch(() => '')).trim()
}

async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => [])
}
