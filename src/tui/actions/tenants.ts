// The tenants screen: from list to list, and what Enter opens.

import type { Console } from '../console.ts'
import { keyUnderCursor, paneItems } from '../screens/tenant-items.ts'
import type { TenantsUi } from '../state.ts'
import { showKey } from './tenant-keys.ts'
import { openPolicy } from './tenant-policy.ts'

const FOCUS: readonly TenantsUi['focus'][] = ['list', 'actors', 'keys']

/** The cursor begins on a row and stays with it: rows that are sorted by use change places. */
export function nextPane(console: Console, step: 1 | -1): void {
  const view = console.fleet()
  if (view === undefined) return
  const { focus: before, cursors } = view.ui.tenants
  const focus = FOCUS[(FOCUS.indexOf(before) + step + FOCUS.length) % FOCUS.length] ?? 'list'
  if (focus === 'list') {
    console.updateTenants({ focus })
    return
  }
  const row = cursors[focus].row ?? paneItems(view, focus)[0]?.id
  const cursor = { ...cursors[focus], row }
  console.updateTenants({ focus, pane: focus, cursors: { ...cursors, [focus]: cursor } })
}

/** The key under the cursor, else the policy of the tenant. */
export function openTenant(console: Console): void {
  const view = console.fleet()
  const key = view === undefined ? undefined : keyUnderCursor(view)
  if (key === undefined) openPolicy(console)
  else showKey(console, key)
}
