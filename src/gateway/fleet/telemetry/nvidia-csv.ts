// The rows that `nvidia-smi --query-gpu … --format=csv,noheader,nounits` prints. Pure.

import type { GpuReading } from '../worker.ts'

const MIB = 1024 * 1024

/** In the order in which they are asked for. */
export const FIELDS = [
  'index',
  'uuid',
  'name',
  'utilization.gpu',
  'memory.used',
  'memory.total',
  'temperature.gpu',
  'power.draw',
  'memory.reserved',
] as const

/** An unknown field fails the whole command: older drivers know all but the last. */
export const OLD_FIELDS = FIELDS.slice(0, -1)

/** Fields behind the name, which may itself hold a comma. */
const BEFORE_NAME = 2

/** Undefined: the line is no row of a GPU but something that nvidia-smi says. */
export function parseRow(line: string, fields: readonly string[] = FIELDS): GpuReading | undefined {
  const cells = line.split(',').map((cell) => cell.trim())
  if (cells.length < fields.length) return undefined
  const [index = '', uuid = ''] = cells
  if (!/^\d{1,4}$/.test(index)) return undefined
  const figures = cells.slice(cells.length - (fields.length - BEFORE_NAME - 1))
  const name = cells.slice(BEFORE_NAME, cells.length - figures.length).join(', ')
  const [load, used, total, temperature, power, reserved] = figures.map(figureOf)
  return {
    id: /^gpu-/i.test(uuid) ? uuid : `nvidia-${Number(index)}`,
    index: Number(index),
    name,
    utilization: load === undefined || load > 100 ? undefined : load / 100,
    vramUsedBytes: mebibytes(used),
    // A total of 0 is how some boards with unified memory say that they have none of their own.
    vramTotalBytes: total === 0 ? undefined : mebibytes(total),
    vramReservedBytes: mebibytes(reserved),
    temperatureC: temperature,
    powerW: power,
  }
}

/** Every token that is no plain number (`[N/A]`, `N/A`, `[Not Supported]`, …) says nothing. */
function figureOf(cell: string): number | undefined {
  return /^\d{1,12}(?:\.\d{1,12})?$/.test(cell) ? Number(cell) : undefined
}

function mebibytes(figure: number | undefined): number | undefined {
  return figure === undefined ? undefined : figure * MIB
}
