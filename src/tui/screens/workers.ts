// Workers as a table, or as cards where there is room for them.

import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { cursorIndex, rowsInSight } from '../cursor.ts'
import { sanitise } from '../present/text.ts'
import { count, percent, plural, rate } from '../present/units.ts'
import { column, type TableColumn } from '../table.ts'
import { fitLine, type Line, lineOf } from '../theme.ts'
import { fillRows, type FleetView, type Picture, screenState } from '../view.ts'
import { cardLines, CARD_ROWS } from './worker-card.ts'
import { cornerOf, listPicture } from './listing.ts'
import * as words from './worker-words.ts'
import { rulesShort, type WorkerItem, workerItems } from './workers-rows.ts'

export function workersPicture(view: FleetView): Picture {
  const items = workerItems(view.snapshot, view.ui)
  const cards = showsCards(view, items.length)
  const { lines, selected, sight } = cards ? cardsPicture(view, items) : tablePicture(view, items)
  return {
    body: lines,
    inspector: selected === undefined ? [] : inspect(selected.row),
    corner: cornerOf(view, sight, `view ${cards ? 'cards' : 'table'} (t)`),
  }
}

/** Cards when they are wanted, or when all of them fit. */
export function showsCards({ ui, layout }: FleetView, workers: number): boolean {
  if (ui.cardView !== 'auto') return ui.cardView === 'cards'
  const { across, down } = cardGrid(layout)
  return across > 1 && workers <= across * down
}

const NARROWEST_CARD = 36

export function cardGrid(layout: { columns: number; body: number }): {
  across: number
  down: number
  cells: number
} {
  const across = Math.max(1, Math.floor(layout.columns / NARROWEST_CARD))
  return {
    across,
    down: Math.max(1, Math.floor(layout.body / CARD_ROWS)),
    cells: Math.floor(layout.columns / across),
  }
}

interface Shown {
  lines: readonly Line[]
  selected: WorkerItem | undefined
  sight: string
}

function cardsPicture(view: FleetView, items: readonly WorkerItem[]): Shown {
  const { across, down, cells } = cardGrid(view.layout)
  const index = cursorIndex(items, screenState(view, 'workers'))
  const rowOfCursor = Math.floor(Math.max(0, index) / across)
  const total = Math.ceil(items.length / across)
  const top = Math.max(0, Math.min(rowOfCursor - down + 1, total - down))
  const lines: Line[] = []
  for (let row = top; row < Math.min(total, top + down); row += 1) {
    const cards = items
      .slice(row * across, (row + 1) * across)
      .map((item, offset) =>
        cardLines(view, item.row, { cells, selected: row * across + offset === index }),
      )
    for (let line = 0; line < CARD_ROWS; line += 1) {
      lines.push(cards.flatMap((card) => fitLine(card[line] ?? [], cells)))
    }
  }
  return {
    lines: fillRows(lines, view.layout.body),
    selected: items[index],
    sight: rowsInSight(top * across, down * across, items.length),
  }
}

function tablePicture(view: FleetView, items: readonly WorkerItem[]): Shown {
  return listPicture(view, {
    screen: 'workers',
    rows: items,
    columns: columnsOf(view),
    height: view.layout.body,
    empty: 'No workers yet: add "workers" to the config, then `ogw config reload`.',
  })
}

function columnsOf(view: FleetView): TableColumn<WorkerItem>[] {
  const speeds = view.samples.workers
  const right = 'right' as const
  const of = (id: string, header: string, width: number) => [id, header, width] as const
  return [
    column(of('name', 'NAME', 10), ({ row }) => sanitise(row.name), { grows: 20, cut: 'middle' }),
    column(of('state', 'STATE', 12), ({ row }) => words.stateText(view, row), {
      style: ({ row }) => words.stateStyle(row),
    }),
    column(of('address', 'ADDRESS', 22), ({ row }) => words.addressText(row), { drop: 6 }),
    column(of('slots', 'SLOTS', 5), ({ row }) => `${row.slots.used}/${row.slots.limit}`, {
      align: right,
    }),
    column(of('queue', 'Q', 3), ({ row }) => count(row.queued), {
      align: right,
      style: ({ row }) => (row.queued > 0 ? 'warn' : 'plain'),
    }),
    column(of('gpu', 'GPU', 4), ({ row }) => percent(row.telemetry?.gpu_utilization), {
      align: right,
      drop: 3,
    }),
    column(of('vram', 'VRAM', 10), ({ row }) => words.vramText(row), { align: right, drop: 2 }),
    column(of('temp', 'TEMP', 4), ({ row }) => words.degrees(row), { align: right, drop: 7 }),
    column(of('watt', 'WATT', 4), ({ row }) => words.watts(row), { align: right, drop: 8 }),
    column(of('tok', 'TOK/S', 13), ({ row }) => words.speedText(speeds.get(row.name) ?? []), {
      drop: 4,
    }),
    column(of('rules', 'PLACEMENT', 12), ({ row }) => rulesShort(row), { drop: 5 }),
    column(of('loaded', 'LOADED', 12), ({ row }) => words.loadedText(row), { grows: 60 }),
  ]
}

function inspect(row: WorkerRow): Line[] {
  const breaker = row.breaker.state.replace('_', ' ')
  const installed = row.installed === null ? 'inventory never read' : plural(row.installed, 'model')
  const error = row.error ?? row.inventory_error
  const why = row.why === '' ? '' : ` · ${sanitise(row.why)}`
  const rates = row.rates
    .slice(0, 4)
    .map(({ model, output_tokens_per_s: speed }) => `${sanitise(model)} ${rate(speed)}`)
  const head = `${sanitise(row.name)}  ${words.addressText(row)}  ${sanitise(row.version ?? 'version unknown')} · breaker ${breaker} · ${installed}${why}`
  const layer = row.placement.layer === 'override' ? 'override' : 'config'
  const more =
    error === null
      ? `placement ${rulesShort(row)} (${layer})${rates.length === 0 ? '' : ` · learned ${rates.join(', ')}`}`
      : sanitise(error)
  return [lineOf(` ${head}`), lineOf(` ${more}`, error === null ? 'dim' : 'bad')]
}
