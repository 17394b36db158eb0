// Below the tenants: the actors and the keys of the one under the cursor, beside each other where
// there is room, else one of them.

import type { TenantLine } from '../../gateway/contract/schema/tenants.ts'
import { cursorIndex, rowsInSight, scrollTop } from '../cursor.ts'
import { SPENT_TONE, spentOf, USED_CELLS, usedOfLimit } from '../present/tenants.ts'
import { sanitise, truncateEnd, width } from '../present/text.ts'
import { count, NONE } from '../present/units.ts'
import type { TenantPane } from '../state.ts'
import { column, placeColumns, type TableColumn, tableHeader, tableRow } from '../table.ts'
import { fitLine, type Line, lineOf, span, type Style } from '../theme.ts'
import { coarseAge, fillRows, type FleetView } from '../view.ts'
import { type ActorItem, actorItems, type KeyItem, keyItems, useOf } from './tenant-items.ts'

/** Below it one pane is shown, and Tab shows the other. */
const BOTH_FROM_COLUMNS = 110

export function panesLines(
  view: FleetView,
  tenant: TenantLine | undefined,
  rows: number,
): readonly Line[] {
  if (tenant === undefined) return fillRows([], rows)
  const { columns } = view.layout
  if (!showsBoth(view)) {
    const { pane } = view.ui.tenants
    return paneLines(view, { pane, tenant, columns, rows })
  }
  const left = Math.floor(columns / 2) - 1
  const actors = paneLines(view, { pane: 'actors', tenant, columns: left, rows })
  const keys = paneLines(view, { pane: 'keys', tenant, columns: columns - left - 2, rows })
  return actors.map((line, row) => [
    ...fitLine(line, left),
    span('│ ', 'dim'),
    ...(keys[row] ?? []),
  ])
}

function showsBoth({ layout }: FleetView): boolean {
  return layout.columns >= BOTH_FROM_COLUMNS
}

interface Area {
  pane: TenantPane
  tenant: TenantLine
  columns: number
  rows: number
}

function paneLines(view: FleetView, area: Area): readonly Line[] {
  const { pane, rows } = area
  const { problem } = view.ui.tenants
  const use = useOf(view)
  if (use === undefined) {
    const said = problem === undefined ? '…' : sanitise(problem)
    return fillRows([titleLine(view, area, ''), lineOf(` ${said}`, 'dim')], rows)
  }
  return pane === 'actors'
    ? listLines(view, area, {
        items: actorItems(view),
        total: use.actors_total,
        columns: actorColumns(view, area.tenant),
        tone: () => undefined,
        none: 'nobody has asked lately',
      })
    : listLines(view, area, {
        items: keyItems(view),
        total: use.keys_total,
        columns: keyColumns(view),
        tone: ({ row }) => (row.state === 'active' ? undefined : 'dim'),
        none: 'no key: K makes one',
      })
}

interface List<T> {
  items: readonly T[]
  /** More than there are items where the gateway told the first of them alone. */
  total: number
  columns: readonly TableColumn<T>[]
  tone(item: T): Style | undefined
  none: string
}

function listLines<T extends { id: string }>(
  view: FleetView,
  area: Area,
  { items, total, columns, tone, none }: List<T>,
): readonly Line[] {
  const placed = placeColumns(columns, area.columns)
  const cursor = view.ui.tenants.cursors[area.pane]
  const focused = view.ui.tenants.focus === area.pane
  const page = Math.max(1, area.rows - 2)
  const index = cursorIndex(items, cursor)
  const top = scrollTop(cursor.top, index, page, items.length)
  const drawn = items.slice(top, top + page).map((item, offset) => {
    const selected = focused && top + offset === index
    const own = tone(item)
    return tableRow(placed, item, own === undefined ? { selected } : { selected, tone: own })
  })
  const sight = rowsInSight(top, page, items.length)
  const shown = total > items.length ? `first ${items.length} of ${total}` : String(total)
  const said = `${shown}${sight === '' ? '' : `  ${sight}`}`
  const rows = drawn.length === 0 ? [lineOf(`   ${none}`, 'dim')] : drawn
  return fillRows([titleLine(view, area, said), tableHeader(placed), ...rows], area.rows)
}

/** A long name gives way to what stands behind it. */
function titleLine(view: FleetView, { pane, tenant, columns }: Area, said: string): Line {
  const focused = view.ui.tenants.focus === pane
  const other = pane === 'actors' ? 'keys' : 'actors'
  const hint = showsBoth(view) ? '' : `  (Tab: ${other})`
  const rest = `${said === '' ? '' : ` · ${said}`}${hint}`
  const room = Math.max(1, columns - width(`>${pane} of ${rest}`))
  const name = truncateEnd(sanitise(tenant.name), room)
  return [
    span(focused ? '>' : ' ', 'bold'),
    span(`${pane} of ${name}`, focused ? 'cursor' : 'bold'),
    span(rest, 'dim'),
  ]
}

function actorColumns({ theme, wall }: FleetView, tenant: TenantLine): TableColumn<ActorItem>[] {
  const look = { ascii: theme.ascii, wide: false }
  const right = 'right' as const
  const limit = tenant.actor_credits
  return [
    column(['actor', 'ACTOR', 11], ({ row }) => sanitise(row.actor), { grows: 30 }),
    column(['active', 'ACTIVE', 6], ({ row }) => count(row.active), { align: right }),
    column(['queued', 'Q', 3], ({ row }) => count(row.queued), { align: right, drop: 2 }),
    column(['hour', 'REQ/H', 5], ({ row }) => count(row.requests_last_hour), {
      align: right,
      drop: 3,
    }),
    column(
      ['credits', ' USED/LIMIT', USED_CELLS.narrow],
      ({ row }) => (row.account === null ? `    ${NONE}` : usedOfLimit(row.account, limit, look)),
      {
        style: ({ row }) =>
          row.account === null ? 'dim' : SPENT_TONE[spentOf(row.account, limit).state],
      },
    ),
    column(['last', 'LAST', 5], ({ row }) => agoOf(row.last_at, wall), { align: right }),
  ]
}

function keyColumns({ wall }: FleetView): TableColumn<KeyItem>[] {
  return [
    column(['id', 'KEY', 11], ({ row }) => sanitise(row.id)),
    column(['state', 'STATE', 7], ({ row }) => row.state, {
      style: ({ row }) => (row.state === 'active' ? 'good' : 'dim'),
    }),
    column(['created', 'CREATED', 10], ({ row }) => sanitise(row.created_at.slice(0, 10))),
    column(['used', 'LAST', 5], ({ row }) => agoOf(row.last_used_at, wall), { align: 'right' }),
    column(['expires', 'EXPIRES', 10], ({ row }) => row.expires_at?.slice(0, 10) ?? 'never', {
      drop: 2,
    }),
    column(['scope', 'SCOPE', 6], ({ row }) => row.scope, { drop: 3 }),
    column(['kind', 'KIND', 7], ({ row }) => row.kind, { drop: 4 }),
    column(['by', 'MADE BY', 10], ({ row }) => sanitise(row.created_by), { drop: 5, grows: 30 }),
  ]
}

/** By the minute, as everything that would draw the screen anew by itself; days without hours. */
function agoOf(at: string | null, wall: number): string {
  return at === null ? NONE : coarseAge(wall - (Date.parse(at) || 0)).replace(/d.*/, 'd')
}
