// The tenants screen: from list to list.

import type { Console } from '../console.ts'
import { paneItems } from '../screens/tenant-items.ts'
import type { TenantsUi } from '../state.ts'

const FOCUS: readonly TenantsUi['focus'][] = ['list', 'actors', 'keys']

/** The cursor begins on a row and stays with it: rows that are sorted by use change places. */
export function nextPane(console: Console, step: 1 | -1): void {
  const view = console.fleet()
  if (view === undefined) return
  const { focus: before, cursors, pane } = view.ui.tenants
  const focus = FOCUS[(FOCUS.indexOf(before) + step + FOCUS.length) % FOCUS.length] ?? 'list'
  if (focus === 'list') {
    console.updateTenants({ focus })
    return
  }
  const row = cursors[focus].row ?? paneItems(view, focus)[0]?.id
  const cursor = { ...cursors[focus], row }
  console.updateTenants({ focus, pane: focus ?? pane, cursors: { ...cursors, [focus]: cursor } })
}
