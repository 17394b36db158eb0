// One worker as a card of rows of text.

import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { bar } from '../present/bars.ts'
import { sanitise, truncateEnd, truncateMiddle, width } from '../present/text.ts'
import { NONE, percent } from '../present/units.ts'
import { fitLine, type Line, type Span, span } from '../theme.ts'
import type { FleetView } from '../view.ts'
import {
  addressText,
  giga,
  loadedText,
  speedText,
  stateStyle,
  stateText,
  vramBar,
} from './worker-words.ts'
import { rulesShort } from './workers-rows.ts'

export const CARD_ROWS = 9
const BAR = 8

export function cardLines(
  view: FleetView,
  row: WorkerRow,
  { cells, selected }: { cells: number; selected: boolean },
): Line[] {
  const inner = cells - 4
  const frame = selected ? HEAVY : LIGHT
  const style = selected ? 'bold' : 'dim'
  const contents: Line[] = [
    [span(addressLine(row))],
    slotsLine(row),
    gpuLine(row),
    [span(`vram  ${vramBar(row, BAR)}${memoryText(row)}`)],
    [span(`tok/s ${speedText(view.samples.workers.get(row.name) ?? [])}`)],
    [
      span(
        row.loaded.length === 0 ? 'nothing loaded' : `● ${loadedText(row)}`,
        row.loaded.length === 0 ? 'dim' : 'good',
      ),
    ],
    lastLine(row),
  ]
  return [
    titleLine(view, row, { cells, selected }),
    ...contents.map((line): Line => [
      span(`${frame.side} `, style),
      ...fitLine(line, inner),
      span(` ${frame.side}`, style),
    ]),
    [span(`${frame.bottomLeft}${frame.line.repeat(cells - 2)}${frame.bottomRight}`, style)],
  ]
}

const LIGHT = {
  topLeft: '┌',
  topRight: '┐',
  bottomLeft: '└',
  bottomRight: '┘',
  line: '─',
  side: '│',
}
const HEAVY = {
  topLeft: '┏',
  topRight: '┓',
  bottomLeft: '┗',
  bottomRight: '┛',
  line: '━',
  side: '┃',
}

function titleLine(
  view: FleetView,
  row: WorkerRow,
  { cells, selected }: { cells: number; selected: boolean },
): Line {
  const frame = selected ? HEAVY : LIGHT
  const style = selected ? 'bold' : 'dim'
  const state = stateText(view, row)
  const name = truncateMiddle(sanitise(row.name), Math.max(4, cells - width(state) - 10))
  const used = width(name) + width(state) + 7
  return [
    span(`${frame.topLeft}${frame.line}`, style),
    span(selected ? `>${name}` : ` ${name}`, 'bold'),
    span('  '),
    span(state, stateStyle(row)),
    span(` ${frame.line.repeat(Math.max(0, cells - used))}${frame.topRight}`, style),
  ]
}

function addressLine(row: WorkerRow): string {
  const current = row.addresses.findIndex((one) => one.current)
  const place =
    row.addresses.length < 2
      ? ''
      : `  addr ${current === -1 ? NONE : current + 1}/${row.addresses.length}`
  const version = row.version === null ? '' : `  ${sanitise(row.version)}`
  return `${addressText(row)}${place}${version}`
}

function slotsLine({ slots, queued }: WorkerRow): Span[] {
  const full = slots.used >= slots.limit
  const share = slots.limit === 0 ? undefined : slots.used / slots.limit
  return [
    span(`slots ${bar(share, BAR)} ${slots.used}/${slots.limit}`),
    span(`  queue ${queued}`, queued > 0 ? 'warn' : 'plain'),
    span(full && queued > 0 ? ' FULL' : '', 'warn'),
  ]
}

function gpuLine({ telemetry, telemetry_error: error }: WorkerRow): Span[] {
  if (telemetry === null || telemetry.gpus.length === 0) {
    const why = error === null ? 'no data' : sanitise(error)
    return [span(`gpu   ${bar(undefined, BAR)} ${truncateEnd(why, 200)}`, 'dim')]
  }
  const { gpu_utilization: used, temperature_c: heat, power_w: power, gpus } = telemetry
  const more = [
    heat === null ? '' : `${Math.round(heat)}C`,
    power === null ? '' : `${Math.round(power)}W`,
    gpus.length < 2 ? '' : `${gpus.length} GPUs`,
  ].filter((one) => one !== '')
  return [span(`gpu   ${bar(used, BAR)} ${percent(used)}  ${more.join(' ')}`)]
}

function memoryText({ telemetry }: WorkerRow): string {
  const total = telemetry?.memory_total_bytes ?? null
  const used = telemetry?.memory_used_bytes ?? null
  return total === null || used === null ? '' : `  ram ${giga(used)}/${giga(total)}G`
}

/** What is wrong goes before what is set. */
function lastLine(row: WorkerRow): Span[] {
  if (row.error !== null) return [span(truncateEnd(sanitise(row.error), 200), 'bad')]
  const layer = row.placement.layer === 'override' ? ' override' : ''
  const why = row.why === '' ? '' : `  ${sanitise(row.why)}`
  return [span(`${rulesShort(row)}${layer}${why}`, 'dim')]
}
