// Requests that run, wait, or ended a moment ago.

import type { RequestRow } from '../../gateway/contract/schema/requests.ts'
import { type FilterFields, fitsFilter, parseFilter } from '../filter.ts'
import { memoLast } from '../memo.ts'
import { sanitise } from '../present/text.ts'
import { count, duration, NONE } from '../present/units.ts'
import type { UiState } from '../state.ts'
import { column, type TableColumn } from '../table.ts'
import { type Line, lineOf, span, type Style } from '../theme.ts'
import { type FleetView, gatewayMono, type Picture } from '../view.ts'
import { cornerOf, listPicture, sortRows } from './listing.ts'

export interface RequestItem {
  id: string
  row: RequestRow
}

export const REQUEST_SORTS = {
  age: 'age',
  model: 'model',
  worker: 'worker',
  tenant: 'tenant',
  phase: 'phase',
  out: 'output tokens',
  rate: 'tokens a second',
} as const

export const PHASES = ['waiting', 'sent', 'streaming', 'done', 'failed', 'cancelled'] as const

export function requestItems(
  { requests }: { requests: readonly RequestRow[] },
  { screens, requestPhase }: UiState,
): readonly RequestItem[] {
  const { filter, sort } = screens.requests
  return itemsOf(requests, `${requestPhase} ${filter}`, sort.by, sort.reverse)
}

/** The first word of `wanted` is a phase, or nothing. */
const itemsOf = memoLast(
  (requests: readonly RequestRow[], wanted: string, by: string, reverse: boolean) => {
    const phase = wanted.slice(0, wanted.indexOf(' '))
    const terms = parseFilter(wanted.slice(wanted.indexOf(' ') + 1))
    const items = requests
      .filter((row) => (phase === '' || row.phase === phase) && fitsFilter(terms, fieldsOf(row)))
      .map((row): RequestItem => ({ id: row.id, row }))
    if (by !== 'age') return sortRows(items, valueOf(by), reverse)
    // What has ended stands below what can still be acted on.
    const running = items.filter(({ row }) => isRunning(row))
    const ended = items.filter(({ row }) => !isRunning(row))
    return [...sortRows(running, undefined, reverse), ...sortRows(ended, undefined, reverse)]
  },
)

function fieldsOf(row: RequestRow): FilterFields {
  return {
    text: [row.id, row.model, row.worker ?? '', row.tenant, row.actor],
    model: [row.model, row.asked_model ?? ''],
    worker: [row.worker ?? ''],
    tenant: [row.tenant],
    actor: [row.actor],
    state: [row.phase],
  }
}

function valueOf(by: string): ((item: RequestItem) => number | string | null) | undefined {
  switch (by) {
    case 'model':
      return ({ row }) => row.model
    case 'worker':
      return ({ row }) => row.worker
    case 'tenant':
      return ({ row }) => row.tenant
    case 'phase':
      return ({ row }) => PHASES.indexOf(row.phase)
    case 'out':
      return ({ row }) => -(row.output_tokens ?? 0)
    case 'rate':
      return ({ row }) => -(row.output_tokens_per_s ?? 0)
    default:
      return undefined
  }
}

export const isRunning = ({ phase }: RequestRow): boolean =>
  phase === 'waiting' || phase === 'sent' || phase === 'streaming'

export function requestsPicture(view: FleetView): Picture {
  const items = requestItems(view.snapshot, view.ui)
  const queue = queueLines(view)
  const { lines, selected, sight } = listPicture(view, {
    screen: 'requests',
    rows: items,
    columns: columnsOf(view),
    height: view.layout.body - queue.length,
    tone: ({ row }) => (isRunning(row) ? undefined : row.phase === 'failed' ? 'bad' : 'dim'),
    empty: 'No request runs, waits, or ended in the last minute.',
  })
  const phase = view.ui.requestPhase === '' ? '' : `phase ${view.ui.requestPhase}`
  return {
    body: [...queue, ...lines],
    inspector: selected === undefined ? [] : inspect(selected.row),
    corner: cornerOf(view, sight, phase),
  }
}

/** What waits, by model: how many, how long, for what. */
function queueLines(view: FleetView): Line[] {
  const waiting = view.snapshot.requests.filter(({ phase }) => phase === 'waiting')
  if (waiting.length === 0) return [lineOf(' nothing waits', 'dim')]
  const now = gatewayMono(view)
  const models = Map.groupBy(waiting, ({ model }) => model)
  const most = view.layout.rules ? 4 : 1
  const lines = [...models]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .slice(0, most)
    .map(([model, rows]): Line => {
      const oldest = Math.max(...rows.map((row) => now - row.entered_mono))
      const reason = rows[0]?.reason ?? ''
      return [
        span(` QUEUED ${rows.length}  `, 'warn'),
        span(`${sanitise(model)}  oldest ${seconds(oldest)}  ${sanitise(reason)}`),
      ]
    })
  return lines
}

/** Whole seconds, so that ages do not flicker. */
const seconds = (ms: number): string => duration(Math.floor(Math.max(0, ms) / 1000) * 1000)

const PHASE: Readonly<Record<RequestRow['phase'], { text: string; style: Style }>> = {
  waiting: { text: '… waiting', style: 'warn' },
  sent: { text: '▸ sent', style: 'plain' },
  streaming: { text: '▶ stream', style: 'good' },
  done: { text: '✓ done', style: 'dim' },
  failed: { text: '✗ failed', style: 'bad' },
  cancelled: { text: '✗ cancel', style: 'dim' },
}

function columnsOf(view: FleetView): TableColumn<RequestItem>[] {
  const now = gatewayMono(view)
  const right = 'right' as const
  const of = (id: string, header: string, width: number) => [id, header, width] as const
  return [
    column(of('id', 'ID', 8), ({ row }) => sanitise(row.id.slice(0, 8))),
    column(of('phase', 'PHASE', 9), ({ row }) => PHASE[row.phase].text, {
      style: ({ row }) => PHASE[row.phase].style,
    }),
    column(of('age', 'AGE', 6), ({ row }) => ageOf(row, now), { align: right }),
    column(of('tenant', 'TENANT', 10), ({ row }) => sanitise(row.tenant), { drop: 5 }),
    column(of('model', 'MODEL', 16), ({ row }) => sanitise(row.model), {
      grows: 30,
      cut: 'middle',
    }),
    column(of('worker', 'WORKER', 8), ({ row }) => sanitise(row.worker ?? NONE), { grows: 14 }),
    column(of('first', 'TTFT', 5), ({ row }) => inSeconds(row.first_byte_ms), {
      align: right,
      drop: 3,
    }),
    column(of('in', 'IN', 5), ({ row }) => count(row.prompt_tokens), { align: right, drop: 4 }),
    column(of('out', 'OUT', 5), ({ row }) => count(row.output_tokens), { align: right }),
    column(of('rate', 'TOK/S', 5), ({ row }) => count(row.output_tokens_per_s), {
      align: right,
      drop: 2,
    }),
    column(of('dialect', 'DIALECT', 13), ({ row }) => sanitise(row.dialect), { drop: 7 }),
    column(of('result', 'RESULT', 10), ({ row }) => resultOf(row), { grows: 60, drop: 6 }),
  ]
}

function ageOf(row: RequestRow, now: number): string {
  return seconds((isRunning(row) ? now : row.phase_mono) - row.entered_mono)
}

const inSeconds = (value: number | null): string =>
  value === null ? NONE : `${(value / 1000).toFixed(1)}s`

function resultOf({ status, reason, attempts }: RequestRow): string {
  const parts = [
    status === null ? '' : String(status),
    attempts > 1 ? `${attempts} attempts` : '',
    sanitise(reason ?? ''),
  ]
  return parts.filter((part) => part !== '').join(' ')
}

function inspect(row: RequestRow): Line[] {
  const asked = row.asked_model === null ? '' : ` (asked for ${sanitise(row.asked_model)})`
  const where = row.worker === null ? 'no worker yet' : sanitise(row.worker)
  return [
    [
      span(` ${sanitise(row.id)}  `, 'bold'),
      span(
        `${sanitise(row.model)}${asked} → ${where} · ${sanitise(row.tenant)}/${sanitise(row.actor)} · ${row.priority}${row.reason === null ? '' : ` · ${sanitise(row.reason)}`}`,
      ),
    ],
    lineOf(
      ` ${sanitise(row.dialect)} ${sanitise(row.path)} · queued ${duration(row.queue_ms)} · first byte ${duration(row.first_byte_ms)} · prompt text is never shown or stored`,
      'dim',
    ),
  ]
}
