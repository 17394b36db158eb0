// Why a key does nothing here and now. An action that is not possible says so; it is not hidden.

import type { ActionId, Binding } from '../keymap.ts'
import { eventItems } from '../screens/events.ts'
import { isRunning, requestItems } from '../screens/requests.ts'
import { actorUnderCursor, keyUnderCursor, tenantUnderCursor } from '../screens/tenant-items.ts'
import { NO_TENANTS_TOLD } from '../screens/tenants.ts'
import { sanitise } from '../present/text.ts'
import { fleetView, type FleetView, type View } from '../view.ts'
import {
  cellUnderCursor,
  itemUnderCursor,
  modelUnderCursor,
  underCursor,
  workerUnderCursor,
} from './target.ts'

/** One sentence, or undefined where the action is possible. */
export function reasonAgainst({ id, changes }: Binding, view: View): string | undefined {
  const fleet = fleetView(view)
  if (fleet === undefined) {
    return ALWAYS.has(id) ? undefined : 'there is nothing here yet: no gateway has answered'
  }
  if (view.ui.draft !== undefined && NOT_IN_DRAFT.has(id)) {
    return 'not while rules are edited; Esc leaves them'
  }
  if (changes === true) {
    if (view.readOnly) return 'this console only reads (--read-only)'
    if (view.feed.link.kind !== 'live') {
      return 'not sent: gateway unreachable. Nothing was changed.  r retry now'
    }
  }
  return REASONS[id]?.(fleet)
}

/** They would act on the list below the rules. */
const NOT_IN_DRAFT: ReadonlySet<ActionId> = new Set<ActionId>([
  'filter',
  'filter.next',
  'filter.previous',
  'sort',
  'sort.reverse',
  'undo',
  'copy',
])

/** Possible before the first picture of the fleet. */
const ALWAYS: ReadonlySet<ActionId> = new Set([
  'quit',
  'help',
  'refresh',
  'redraw',
  'suspend',
  'back',
  'filter',
  'palette',
  'screen.1',
  'screen.2',
  'screen.3',
  'screen.4',
  'screen.5',
  'screen.6',
  'screen.next',
  'screen.previous',
])

const needsCell = (view: FleetView): string | undefined => {
  const item = itemUnderCursor(view)
  if (item === undefined) return 'there is no cell here'
  if (item.kind === 'family')
    return 'a family has no cell of its own: a and d make a rule of its prefix'
  return cellUnderCursor(view) === undefined ? 'there is no worker here' : undefined
}
const needsColumn = (view: FleetView): string | undefined =>
  workerUnderCursor(view) === undefined ? 'there is no worker here' : undefined
const needsRow = (view: FleetView): string | undefined =>
  underCursor(view) === undefined ? 'there is no row here' : undefined
const needsModel = (view: FleetView): string | undefined =>
  modelUnderCursor(view) === undefined ? 'there is no model here' : undefined
const needsTenant = (view: FleetView): string | undefined => {
  if (view.snapshot.tenants === undefined) return NO_TENANTS_TOLD
  return tenantUnderCursor(view) === undefined ? 'there is no tenant here' : undefined
}
/** A grant adds to a limit; what has none needs no grant. */
const needsLimit = (view: FleetView): string | undefined => {
  const tenant = tenantUnderCursor(view)
  const actor = actorUnderCursor(view)
  const limit = actor === undefined ? tenant?.credits : tenant?.actor_credits
  if (limit !== 0) return needsAccount(view)
  return `${sanitise(actor?.actor ?? tenant?.name ?? '')} has no limit: there is nothing to grant`
}
const needsAccount = (view: FleetView): string | undefined =>
  actorUnderCursor(view)?.account === null
    ? 'nobody vouches for this actor: it has no credits of its own'
    : needsTenant(view)
const needsActiveKey = (view: FleetView): string | undefined => {
  const key = keyUnderCursor(view)
  if (key === undefined) return needsTenant(view) ?? 'Tab goes to the keys: x revokes the one there'
  return key.state === 'active' ? undefined : `this key is ${key.state} already`
}
const onMatrix = (view: FleetView): string | undefined =>
  view.ui.screen === 'placement' ? undefined : 'only the matrix has columns'

const REASONS: Readonly<Partial<Record<ActionId, (view: FleetView) => string | undefined>>> = {
  'cell.toggle': needsCell,
  'cell.allow': needsColumn,
  'cell.deny': needsColumn,
  'cell.clear': needsColumn,
  'prefix.allow': needsColumn,
  'prefix.deny': needsColumn,
  'cell.why': needsCell,
  'cell.worker': needsColumn,
  'mark.one': needsCell,
  'mark.range': needsCell,
  freeze: needsColumn,
  fold: (view) => {
    if (view.ui.screens.placement.filter !== '') return 'a filter unfolds every family'
    return view.ui.screens.placement.sort.by === 'model'
      ? undefined
      : 'families stand together only when sorted by model (s)'
  },
  'ruleset.open': needsColumn,
  load: (view) => (view.ui.screen === 'workers' ? needsColumn(view) : needsModel(view)),
  'worker.drain': needsRow,
  'worker.probe': needsRow,
  'worker.detail': needsRow,
  'worker.inventory': needsRow,
  'request.detail': needsRow,
  'request.cancel': (view) => {
    const row = requestItems(view.snapshot, view.ui).find(({ id }) => id === underCursor(view))?.row
    if (row === undefined) return 'there is no row here'
    return isRunning(row) ? undefined : 'this request has ended'
  },
  'model.jump': needsModel,
  'model.detail': needsModel,
  'model.explain': needsModel,
  'event.expand': needsRow,
  'event.undo': (view) => {
    const item = eventItems(view.snapshot, view.ui).find(({ id }) => id === underCursor(view))
    return item?.kind === 'event' && item.row.revision !== null
      ? undefined
      : 'this entry is no edit of placement'
  },
  'event.follow': (view) => (view.ui.pane === 'events' ? undefined : 'only events are followed'),
  'tenant.open': needsTenant,
  'tenant.grant': needsLimit,
  'tenant.reset': needsAccount,
  'tenant.keys': needsTenant,
  'tenant.revoke': needsActiveKey,
  'tenant.pane': needsTenant,
  'tenant.paneBack': needsTenant,
  'tenant.undo': (view) =>
    view.ui.tenants.undo.length > 0 ? undefined : 'you have changed no tenant yet',
  'move.firstColumn': onMatrix,
  'move.lastColumn': onMatrix,
  undo: (view) =>
    view.ui.undo.length > 0 || view.snapshot.placement.last !== null
      ? undefined
      : 'nobody has edited placement yet',
}
