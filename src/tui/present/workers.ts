// Workers as rows of a table and as facts about one of them.

import type { OutputOf } from '../../gateway/contract/schema.ts'
import type { PlacementRules } from '../../gateway/contract/schema/common.ts'
import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { type Cell, cell, foreign, type TableView } from './cell.ts'
import { bytes, duration, NONE, percent, rate } from './units.ts'

export type WorkerDetail = OutputOf<'workers.show'>

export function presentWorkers(rows: readonly WorkerRow[]): TableView {
  return {
    columns: [
      { header: 'NAME' },
      { header: 'STATE' },
      { header: 'SLOTS', align: 'right' },
      { header: 'QUEUED', align: 'right' },
      { header: 'INSTALLED', align: 'right' },
      { header: 'LOADED', cut: 'end' },
      { header: 'VRAM', align: 'right' },
      { header: 'GPU', align: 'right' },
      { header: 'VERSION' },
      { header: 'PLACEMENT' },
      { header: 'ADDRESS', cut: 'end' },
    ],
    rows: rows.map((row) => [
      foreign(row.name),
      workerState(row),
      cell(`${row.slots.used}/${row.slots.limit}`),
      cell(String(row.queued)),
      row.installed === null ? cell('?', 'dim') : cell(String(row.installed)),
      foreign(row.loaded.map(({ model }) => model).join(',')),
      vram(row),
      gpuLoad(row),
      foreign(row.version),
      cell(rulesInShort(row.placement) + (row.placement.layer === 'override' ? ' (override)' : '')),
      foreign(row.address),
    ]),
  }
}

/** `up`, `down`, `starting`; `draining` and an open breaker are said beside it. */
export function workerState(row: WorkerRow): Cell {
  const words: string[] = [row.health]
  if (row.draining) words.push('draining')
  if (row.breaker.state === 'open') words.push('breaker open')
  if (row.breaker.state === 'half_open') words.push('breaker half open')
  if (row.health === 'down') return cell(words.join(','), 'bad')
  return cell(words.join(','), words.length > 1 || row.health === 'starting' ? 'warn' : 'good')
}

/** `allow_all`, `whitelist +3`, `allow_all -2 +1`: the mode and how many rules deny and allow. */
export function rulesInShort(rules: PlacementRules): string {
  const parts: string[] = [rules.mode]
  if (rules.denied_models.length > 0) parts.push(`-${rules.denied_models.length}`)
  if (rules.allowed_models.length > 0) parts.push(`+${rules.allowed_models.length}`)
  return parts.join(' ')
}

function vram(row: WorkerRow): Cell {
  const used = row.telemetry?.vram_used_bytes ?? null
  const total = row.telemetry?.vram_total_bytes ?? null
  if (used === null || total === null || total === 0) return cell(NONE, 'dim')
  return cell(percent(used / total))
}

function gpuLoad({ telemetry }: WorkerRow): Cell {
  const share = telemetry?.gpu_utilization ?? null
  return share === null ? cell(NONE, 'dim') : cell(percent(share))
}

/** Label and value of each fact about one worker. */
export function presentWorker(row: WorkerDetail): [string, Cell][] {
  const ago = (mono: number | null): string =>
    mono === null ? 'never' : `${duration(row.now_mono - mono)} ago`
  const facts: [string, Cell][] = [
    ['name', foreign(row.name)],
    ['why', foreign(row.why)],
    ['state', workerState(row)],
    ['since', cell(row.since_mono === null ? NONE : duration(row.now_mono - row.since_mono))],
    ['error', foreign(row.error, 'bad')],
    ['version', foreign(row.version)],
    ...row.addresses.map(addressFact),
    ['slots', cell(`${row.slots.used}/${row.slots.limit} used, ${row.queued} queued`)],
    ['inventory', cell(inventory(row, ago))],
    ['inventory error', foreign(row.inventory_error, 'bad')],
    ['loaded', foreign(row.loaded.map(loadedInShort).join(', '))],
    ['vram', cell(shareText(row.telemetry?.vram_used_bytes, row.telemetry?.vram_total_bytes))],
    ['ram', cell(shareText(row.telemetry?.memory_used_bytes, row.telemetry?.memory_total_bytes))],
    ...(row.telemetry?.gpus ?? []).map(gpuFact),
    ...row.rates.slice(0, MAX_RATES).map(rateFact),
    ['telemetry', foreign(row.telemetry_error, 'warn')],
    ['placement', cell(`${rulesInShort(row.placement)} (${row.placement.layer})`)],
    ['denied', foreign(row.placement.denied_models.join(' '))],
    ['allowed', foreign(row.placement.allowed_models.join(' '))],
    [
      'drained',
      foreign(
        row.drained_at === null ? null : `${row.drained_at} by ${row.drained_by ?? 'unknown'}`,
      ),
    ],
  ]
  return facts.filter(([label, { text }]) => text !== NONE || label === 'version')
}

/** More learned speeds than these are for `--json`. */
const MAX_RATES = 10

function rateFact(rates: WorkerRow['rates'][number]): [string, Cell] {
  const { output_tokens_per_s: output, prompt_tokens_per_s: prompt } = rates
  return ['learned', foreign(`${rates.model}: ${rate(output)} out, ${rate(prompt)} in`)]
}

type Gpu = NonNullable<WorkerRow['telemetry']>['gpus'][number]

function gpuFact(gpu: Gpu): [string, Cell] {
  const parts = [
    gpu.name === '' ? gpu.id : gpu.name,
    gpu.utilization === null ? '' : percent(gpu.utilization),
    gpu.vram_total_bytes === null ? '' : shareText(gpu.vram_used_bytes, gpu.vram_total_bytes),
    gpu.temperature_c === null ? '' : `${Math.round(gpu.temperature_c)} °C`,
    gpu.power_w === null ? '' : `${Math.round(gpu.power_w)} W`,
  ]
  return ['gpu', foreign(parts.filter((part) => part !== '').join(', '))]
}

function shareText(used: number | null | undefined, total: number | null | undefined): string {
  return (total ?? null) === null ? NONE : `${bytes(used)} of ${bytes(total)}`
}

function addressFact(address: WorkerRow['addresses'][number]): [string, Cell] {
  const parts = [address.url]
  if (address.ip !== null) parts.push(`at ${address.ip}`)
  if (address.current) parts.push('current')
  if (address.last_error !== null) parts.push(`last error: ${address.last_error}`)
  return ['address', foreign(parts.join(', '))]
}

function inventory(row: WorkerDetail, ago: (mono: number | null) => string): string {
  if (row.installed === null) return 'unknown, never read'
  return `${row.installed} installed (read ${ago(row.tags_read_mono)}), ${row.loaded.length} loaded (read ${ago(row.ps_read_mono)})`
}

function loadedInShort(model: WorkerRow['loaded'][number]): string {
  const context = model.context === null ? '' : `, context ${model.context}`
  return `${model.model} (${bytes(model.size_vram_bytes)} in VRAM${context})`
}
