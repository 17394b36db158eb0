// Tenants: who shares the fleet, what is left of their credits; below, the actors and keys of the
// one under the cursor.

import {
  aclText,
  creditBar,
  infinity,
  limitText,
  originOf,
  SPENT_TONE,
  spentOf,
  USED_CELLS,
  usedOfLimit,
  weightText,
} from '../present/tenants.ts'
import type { TenantLine } from '../../gateway/contract/schema/tenants.ts'
import { sanitise, truncateEnd, width } from '../present/text.ts'
import { count, tokens } from '../present/units.ts'
import { column, type TableColumn } from '../table.ts'
import { type Line, lineOf, span } from '../theme.ts'
import { coarseAge, fillRows, type FleetView, type Picture } from '../view.ts'
import { cornerOf, listPicture } from './listing.ts'
import { type TenantItem, tenantItems } from './tenant-items.ts'
import { panesLines } from './tenant-panes.ts'

/** Said in one line where the gateway is of a version that tells no tenants. */
export const NO_TENANTS_TOLD =
  'this gateway is older than the console and tells no tenants: use ogw tenants'

export function tenantsPicture(view: FleetView): Picture {
  const { layout, snapshot } = view
  if (snapshot.tenants === undefined) {
    return {
      body: fillRows([[], lineOf(`   ${NO_TENANTS_TOLD}`)], layout.body),
      inspector: [],
      corner: [],
    }
  }
  const items = tenantItems(snapshot, view.ui)
  const rows = listRows(view)
  const { lines, selected, sight } = listPicture(view, {
    screen: 'tenants',
    rows: items,
    columns: columnsOf(view),
    height: rows,
    tone: ({ row }) => (row.keys + row.actors + row.active + row.queued > 0 ? undefined : 'dim'),
    empty: 'There is no tenant.',
  })
  return {
    body: [...lines, [], ...panesLines(view, selected?.row, layout.body - rows - 1)],
    inspector: selected === undefined ? [] : inspect(view, selected.row),
    corner: cornerOf(view, sight),
  }
}

/** The header and as many tenants as there are, but the panes below keep a third of the room. */
export function listRows({ layout, snapshot, ui }: FleetView): number {
  const panes = Math.max(4, Math.floor(layout.body * 0.37))
  const wanted = Math.max(3, tenantItems(snapshot, ui).length + 1)
  return Math.max(2, Math.min(wanted, layout.body - panes - 1))
}

function columnsOf({ layout, theme }: FleetView): TableColumn<TenantItem>[] {
  const wide = layout.columns >= 100
  const look = { ascii: theme.ascii, wide }
  const right = 'right' as const
  /** Header and width where there is room, and where there is little. */
  const of = (id: string, [long, roomy]: [string, number], [short, tight]: [string, number]) =>
    [id, wide ? long : short, wide ? roomy : tight] as const
  const toneOf = ({ row }: TenantItem) => SPENT_TONE[spentOf(row.account, row.credits).state]
  return [
    column(of('tenant', ['TENANT', 11], ['TENANT', 10]), ({ row }) => sanitise(row.name), {
      grows: 63,
    }),
    column(of('keys', ['KEYS', 4], ['KEY', 4]), ({ row }) => count(row.keys), {
      align: right,
      drop: 8,
    }),
    column(of('actors', ['ACTORS', 6], ['ACT', 4]), ({ row }) => count(row.actors), {
      align: right,
      drop: 7,
    }),
    column(of('active', ['ACTIVE', 6], ['RUN', 3]), ({ row }) => count(row.active), {
      align: right,
    }),
    column(of('queued', ['QUEUED', 6], ['Q', 3]), ({ row }) => count(row.queued), {
      align: right,
      style: ({ row }) => (row.queued > 0 ? 'warn' : 'plain'),
    }),
    column(
      of('requests', ['REQ/MIN', 7], ['REQ/M', 5]),
      ({ row }) => count(row.requests_last_minute),
      { align: right, drop: 6 },
    ),
    column(of('rate', ['TOK/MIN', 7], ['TOK/M', 5]), ({ row }) => tokens(row.tokens_last_minute), {
      align: right,
      drop: 5,
    }),
    column(
      of('credits', ['CREDITS', 16], ['CREDITS', 7]),
      ({ row }) => creditBar(spentOf(row.account, row.credits), wide ? 16 : 7),
      { drop: 2, style: toneOf },
    ),
    column(
      of('used', ['  USED / LIMIT', USED_CELLS.wide], [' USED/LIMIT', USED_CELLS.narrow]),
      ({ row }) => usedOfLimit(row.account, row.credits, look),
      { style: toneOf },
    ),
    column(of('share', ['SHARE', 6], ['SH', 4]), ({ row }) => `w${weightText(row.weight)}`, {
      drop: 3,
    }),
    column(of('models', ['MODELS (ACL)', 12], ['ACL', 5]), ({ row }) => aclText(row.models), {
      grows: 120,
      drop: 4,
    }),
  ]
}

function inspect(view: FleetView, row: TenantLine): Line[] {
  const { snapshot, theme, wall, layout } = view
  const weights = (snapshot.tenants ?? []).reduce((sum, { weight }) => sum + weight, 0)
  const most = row.max_in_flight === 0 ? infinity(theme.ascii) : String(row.max_in_flight)
  const facts = [
    `weight ${weightText(row.weight)} of ${weightText(weights)}`,
    `max ${most} in flight`,
    row.priority,
    `models ${aclText(row.models)}`,
    originOf(row),
  ]
  const { credits, held, actors } = creditsInWords(view, row)
  const reset = Date.parse(row.account.resets_at)
  const ends = `ends ${resetTime(row.account.resets_at)} in ${coarseAge(reset - wall)}`
  if (layout.inspector === 1) {
    const name = truncateEnd(sanitise(row.name), Math.floor(layout.columns / 3))
    const room = layout.columns - width(name) - 3
    return [[span(` ${name}  `, 'bold'), span(joined([credits, ends, actors, ...facts], room))]]
  }
  const window = `window ${row.credit_window}, ${ends}`
  const money = [`${credits}${held}`, actors, window, `0 is shown as ${infinity(theme.ascii)}`]
  return [
    [span(` ${sanitise(row.name)}  `, 'bold'), span(facts.join(' · '))],
    lineOf(` ${joined(money, layout.columns - 2)}`, 'dim'),
  ]
}

/** As many facts as there is room for, each of them whole. */
function joined(facts: readonly string[], room: number): string {
  let text = facts[0] ?? ''
  for (const fact of facts.slice(1)) {
    const longer = `${text} · ${fact}`
    if (width(longer) > room) break
    text = longer
  }
  return text
}

function creditsInWords({ theme }: FleetView, row: TenantLine) {
  const { granted, reserved, left } = row.account
  const limit = `credits ${limitText(row.credits, theme.ascii)}`
  const more = granted === 0 || row.credits === 0 ? '' : ` + ${tokens(granted)} granted`
  const rest = left === null ? '' : `, ${tokens(left)} left`
  return {
    credits: `${limit}${more}${rest}`,
    held: reserved === 0 ? '' : `, ${tokens(reserved)} held by what runs`,
    actors: `each actor ${limitText(row.actor_credits, theme.ascii)}`,
  }
}

/** Windows are counted in UTC. */
function resetTime(at: string): string {
  return `${at.slice(11, 16)} UTC`
}
