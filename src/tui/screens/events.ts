// What happened: events of the gateway, changes of operators, the state files.

import type { AuditEntry, EventRow, StateFile } from '../../gateway/contract/schema/gateway.ts'
import { type FilterFields, fitsFilter, parseFilter } from '../filter.ts'
import { memoLast } from '../memo.ts'
import { sanitise } from '../present/text.ts'
import { age, bytes, NONE } from '../present/units.ts'
import type { UiState } from '../state.ts'
import type { TableColumn } from '../table.ts'
import { type Line, lineOf, span, type Style } from '../theme.ts'
import { clockTime, type FleetView, type Picture } from '../view.ts'
import { cornerOf, listPicture } from './listing.ts'

export type EventItem =
  | { id: string; kind: 'event'; row: EventRow }
  | { id: string; kind: 'audit'; row: AuditEntry }
  | { id: string; kind: 'storage'; row: StateFile }

export function eventItems(
  { events }: { events: readonly EventRow[] },
  ui: UiState,
): readonly EventItem[] {
  const { filter } = ui.screens.events
  if (ui.pane === 'audit') return auditItems(ui.audit, filter)
  return ui.pane === 'storage' ? storageItems(ui.storage, filter) : liveItems(events, filter)
}

/** Newest first. */
const liveItems = memoLast((events: readonly EventRow[], filter: string): EventItem[] => {
  const terms = parseFilter(filter)
  return events
    .filter((row) => fitsFilter(terms, fieldsOf(row)))
    .map((row): EventItem => ({ id: `e${row.seq}`, kind: 'event', row }))
    .toReversed()
})

const auditItems = memoLast((entries: readonly AuditEntry[], filter: string): EventItem[] => {
  const terms = parseFilter(filter)
  return entries
    .filter((row) =>
      fitsFilter(terms, {
        text: [row.operation, row.actor, row.message],
        actor: [row.actor],
        state: [row.outcome],
      }),
    )
    .map((row, index): EventItem => ({ id: `a${row.at} ${index}`, kind: 'audit', row }))
})

const storageItems = memoLast((files: readonly StateFile[], filter: string): EventItem[] => {
  const terms = parseFilter(filter)
  return files
    .filter((row) => fitsFilter(terms, { text: [row.name, row.path, row.holds] }))
    .map((row): EventItem => ({ id: row.name, kind: 'storage', row }))
})

function fieldsOf(row: EventRow): FilterFields {
  return {
    text: [row.event, row.object, row.detail, row.actor ?? 'system'],
    actor: [row.actor ?? 'system'],
    worker: [row.object],
    model: [row.object],
    sev: [row.severity],
  }
}

const PANE_EMPTY = {
  events: 'Nothing happened yet.',
  audit: 'No operator changed anything, or the audit is off.',
  storage: 'No state file is known.',
} as const

export function eventsPicture(view: FleetView): Picture {
  const { ui, layout } = view
  const items = eventItems(view.snapshot, ui)
  const detail = ui.expanded ? Math.min(8, Math.floor(layout.body / 3)) : 0
  const { lines, selected, sight } = listPicture(view, {
    screen: 'events',
    rows: items,
    columns: columnsOf(view),
    height: layout.body - detail,
    empty: PANE_EMPTY[ui.pane],
  })
  const follow = ui.pane === 'events' && ui.follow ? 'follow' : ''
  return {
    body: [...lines, ...expanded(selected, detail, layout.columns)],
    inspector: selected === undefined ? [] : [lineOf(` ${said(selected)}`), twin(selected)],
    corner: cornerOf(view, sight, ui.pane, follow),
  }
}

function columnsOf({ ui, wall, zone }: FleetView): TableColumn<EventItem>[] {
  if (ui.pane === 'storage') return storageColumns(wall)
  const time = ({ row }: EventItem): string =>
    'at' in row ? clockTime(Date.parse(row.at) || 0, zone) : NONE
  return [
    { id: 'time', header: 'TIME', width: 8, text: time },
    { id: 'sev', header: 'SEV', width: 5, text: severity, style: toneOf },
    { id: 'actor', header: 'ACTOR', width: 10, grows: 16, drop: 3, text: actorOf },
    { id: 'event', header: 'EVENT', width: 18, grows: 24, text: nameOf, style: toneOf },
    { id: 'object', header: 'OBJECT', width: 14, grows: 26, cut: 'middle', text: objectOf },
    { id: 'detail', header: 'DETAIL', width: 10, grows: 200, text: detailOf },
    { id: 'rev', header: 'REV', width: 5, align: 'right', drop: 2, text: revisionOf },
  ]
}

function storageColumns(wall: number): TableColumn<EventItem>[] {
  const file = (text: (row: StateFile) => string) => (item: EventItem) =>
    item.kind === 'storage' ? sanitise(text(item.row)) : ''
  return [
    { id: 'name', header: 'NAME', width: 26, text: file(({ name }) => name) },
    {
      id: 'size',
      header: 'SIZE',
      width: 6,
      align: 'right',
      text: file((row) => (row.exists ? bytes(row.size_bytes) : NONE)),
    },
    {
      id: 'written',
      header: 'WRITTEN',
      width: 8,
      align: 'right',
      text: file((row) => (row.exists ? age(row.modified_at, wall) : 'never')),
    },
    { id: 'error', header: 'ERROR', width: 10, drop: 2, text: file((row) => row.error ?? NONE) },
    { id: 'holds', header: 'HOLDS', width: 20, grows: 60, text: file(({ holds }) => holds) },
    {
      id: 'path',
      header: 'PATH',
      width: 20,
      grows: 80,
      cut: 'middle',
      drop: 3,
      text: file(({ path }) => path),
    },
  ]
}

function toneOf(item: EventItem): Style {
  if (item.kind === 'event') {
    return item.row.severity === 'info' ? 'plain' : item.row.severity === 'warn' ? 'warn' : 'bad'
  }
  return item.kind === 'audit' && item.row.outcome === 'refused' ? 'warn' : 'plain'
}

function severity(item: EventItem): string {
  if (item.kind === 'event') return item.row.severity === 'error' ? 'ERROR' : item.row.severity
  return item.kind === 'audit' ? item.row.outcome.slice(0, 5) : ''
}

function actorOf(item: EventItem): string {
  if (item.kind === 'storage') return ''
  return sanitise(item.row.actor ?? 'system')
}

function nameOf(item: EventItem): string {
  if (item.kind === 'event') return sanitise(item.row.event)
  return item.kind === 'audit' ? sanitise(item.row.operation) : ''
}

function objectOf(item: EventItem): string {
  return item.kind === 'event' ? sanitise(item.row.object) : ''
}

function detailOf(item: EventItem): string {
  if (item.kind === 'event') return sanitise(item.row.detail)
  return item.kind === 'audit' ? sanitise(item.row.message) : ''
}

function revisionOf(item: EventItem): string {
  return item.kind === 'event' && item.row.revision !== null ? String(item.row.revision) : ''
}

function said(item: EventItem): string {
  if (item.kind === 'storage') return sanitise(`${item.row.path}  ${item.row.error ?? ''}`)
  return `${nameOf(item)} ${objectOf(item)} by ${actorOf(item)}: ${detailOf(item)}`
}

function twin(item: EventItem): Line {
  if (item.kind !== 'event' || item.row.revision === null) return []
  return lineOf(` u takes it back, as does: ogw placement undo ${item.row.revision}`, 'dim')
}

function expanded(item: EventItem | undefined, rows: number, columns: number): Line[] {
  if (rows === 0) return []
  const text = item === undefined ? '' : sanitise(JSON.stringify(item.row))
  const lines: Line[] = [lineOf('─'.repeat(columns), 'dim')]
  for (let at = 0; lines.length < rows; at += columns - 2) {
    lines.push([span(' '), span(text.slice(at, at + columns - 2))])
  }
  return lines
}
