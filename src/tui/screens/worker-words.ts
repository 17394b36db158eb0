// What table and card of the workers say alike.

import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { bar, sparkline } from '../present/bars.ts'
import { GLYPH } from '../present/glyphs.ts'
import { sanitise } from '../present/text.ts'
import { count, NONE } from '../present/units.ts'
import { workerState } from '../present/workers.ts'
import type { Style } from '../theme.ts'
import { coarseAge, type FleetView, gatewayMono } from '../view.ts'
import { vramShare } from './workers-rows.ts'

export function stateText(view: FleetView, row: WorkerRow): string {
  const since = row.since_mono === null ? '' : ` ${coarseAge(gatewayMono(view) - row.since_mono)}`
  if (row.health === 'down') return `${GLYPH.down} down${since}`
  if (row.health === 'starting') return `${GLYPH.starting} starting`
  if (row.draining) return `${GLYPH.draining} draining`
  if (row.breaker.state !== 'closed') return `! breaker`
  return `${GLYPH.up} up`
}

export function stateStyle(row: WorkerRow): Style {
  const { tone } = workerState(row)
  if (tone === 'good') return 'good'
  return row.health === 'down' ? 'bad' : 'warn'
}

export function addressText({ address, addresses }: WorkerRow): string {
  const text = address ?? addresses[0]?.url ?? NONE
  return sanitise(text.replace(/^https?:\/\//, ''))
}

export const vramText = ({ telemetry }: WorkerRow): string =>
  isNull(telemetry?.vram_total_bytes)
    ? NONE
    : `${giga(telemetry.vram_used_bytes)}/${giga(telemetry.vram_total_bytes)}G`

export const giga = (value: number | null): string =>
  value === null ? NONE : (value / 1e9).toFixed(value >= 99.5e9 ? 0 : 1).replace(/\.0$/, '')

export const degrees = ({ telemetry }: WorkerRow): string =>
  isNull(telemetry?.temperature_c) ? NONE : `${Math.round(telemetry.temperature_c)}C`

export const watts = ({ telemetry }: WorkerRow): string =>
  isNull(telemetry?.power_w) ? NONE : String(Math.round(telemetry.power_w))

export function speedText(samples: readonly number[]): string {
  const now = samples.at(-1) ?? 0
  const line = sparkline(samples, 8)
  return now === 0 && line === '' ? NONE : `${count(now).padStart(4)} ${line}`
}

export function loadedText({ loaded, model_slots: slots }: WorkerRow): string {
  if (loaded.length === 0) return NONE
  return loaded
    .map(({ model }) => {
      const used = slots.find((slot) => slot.model === model)?.used ?? 0
      return `${sanitise(model)}${used > 0 ? ` ${used}▶` : ''}`
    })
    .join(', ')
}

/** For the card: how full the memory is, as a bar with its numbers. */
export function vramBar(row: WorkerRow, cells: number): string {
  const share = vramShare(row)
  return share === undefined
    ? `${bar(undefined, cells)} no data`
    : `${bar(share, cells)} ${vramText(row)}`
}

const isNull = (value: number | null | undefined): value is null | undefined =>
  value === null || value === undefined
