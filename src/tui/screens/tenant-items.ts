// The rows of the tenants screen: the tenants, and the actors and keys of the one under the cursor.

import type { ActorLine, KeyUse, TenantLine } from '../../gateway/contract/schema/tenants.ts'
import { cursorIndex } from '../cursor.ts'
import { type FilterFields, fitsFilter, parseFilter } from '../filter.ts'
import { memoLast } from '../memo.ts'
import { spentOf } from '../present/tenants.ts'
import type { TenantPane, UiState } from '../state.ts'
import type { FleetView } from '../view.ts'
import { sortRows } from './listing.ts'

export interface TenantItem {
  id: string
  row: TenantLine
}

export interface ActorItem {
  id: string
  row: ActorLine
}

export interface KeyItem {
  id: string
  row: KeyUse
}

export const TENANT_SORTS = {
  tenant: 'name',
  credits: 'share of credits used',
  used: 'tokens used',
  rate: 'tokens of the last minute',
  active: 'requests that run',
  queued: 'requests that wait',
  keys: 'keys',
  actors: 'actors',
  share: 'weight',
} as const

const NO_TENANTS: readonly TenantLine[] = []

export function tenantItems(
  { tenants = NO_TENANTS }: { tenants?: readonly TenantLine[] | undefined },
  { screens }: UiState,
): readonly TenantItem[] {
  const { filter, sort } = screens.tenants
  return itemsOf(tenants, filter, sort.by, sort.reverse)
}

const itemsOf = memoLast(
  (tenants: readonly TenantLine[], filter: string, by: string, reverse: boolean) => {
    const terms = parseFilter(filter)
    const items = tenants
      .filter((row) => fitsFilter(terms, fieldsOf(row)))
      .map((row): TenantItem => ({ id: row.name, row }))
    return sortRows(items, valueOf(by), reverse)
  },
)

function fieldsOf(row: TenantLine): FilterFields {
  const models = [...row.models.allowed, ...row.models.denied]
  return {
    text: [row.name, ...models],
    tenant: [row.name],
    model: models,
    state: [
      spentOf(row.account, row.credits).state,
      row.priority,
      row.active > 0 ? 'active' : '',
      row.queued > 0 ? 'queued' : '',
    ],
  }
}

function valueOf(by: string): ((item: TenantItem) => number | string | null) | undefined {
  switch (by) {
    case 'credits':
      return ({ row }) => -(spentOf(row.account, row.credits).share ?? -1)
    case 'used':
      return ({ row }) => -row.account.used
    case 'rate':
      return ({ row }) => -row.tokens_last_minute
    case 'active':
      return ({ row }) => -row.active
    case 'queued':
      return ({ row }) => -row.queued
    case 'keys':
      return ({ row }) => -row.keys
    case 'actors':
      return ({ row }) => -row.actors
    case 'share':
      return ({ row }) => -row.weight
    default:
      return undefined
  }
}

/** The tenant under the cursor, whichever list the cursor keys move in. */
export function tenantUnderCursor(view: FleetView): TenantLine | undefined {
  const items = tenantItems(view.snapshot, view.ui)
  return items[cursorIndex(items, view.ui.screens.tenants)]?.row
}

/** Empty until the gateway has told about this tenant. */
export function actorItems(view: FleetView): readonly ActorItem[] {
  return useOf(view)?.actors.map((row) => ({ id: row.actor, row })) ?? []
}

export function keyItems(view: FleetView): readonly KeyItem[] {
  return useOf(view)?.keys.map((row) => ({ id: row.id, row })) ?? []
}

export function paneItems(view: FleetView, pane: TenantPane): readonly (ActorItem | KeyItem)[] {
  return pane === 'actors' ? actorItems(view) : keyItems(view)
}

export function useOf(view: FleetView): UiState['tenants']['use'] {
  const { use } = view.ui.tenants
  return use?.tenant === tenantUnderCursor(view)?.name ? use : undefined
}

/** The actor that the cursor keys stand on; undefined while they move in another list. */
export function actorUnderCursor(view: FleetView): ActorLine | undefined {
  if (view.ui.tenants.focus !== 'actors') return undefined
  const items = actorItems(view)
  return items[cursorIndex(items, view.ui.tenants.cursors.actors)]?.row
}

export function keyUnderCursor(view: FleetView): KeyUse | undefined {
  if (view.ui.tenants.focus !== 'keys') return undefined
  const items = keyItems(view)
  return items[cursorIndex(items, view.ui.tenants.cursors.keys)]?.row
}

/** An actor or the id of a key; undefined while the cursor keys move in the tenants. */
export function paneRowUnderCursor(view: FleetView): string | undefined {
  if (view.ui.screen !== 'tenants') return undefined
  return actorUnderCursor(view)?.actor ?? keyUnderCursor(view)?.id
}
