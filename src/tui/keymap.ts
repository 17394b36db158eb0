// Every key of the console, as data: the dispatcher, the key bar, the help and docs/console.md read
// this one table. What an action does stands in actions/.
//
// Key names: a letter as typed, `space`, `enter`, `esc`, `tab`, `S-tab`, arrows, `pgup`, `pgdn`,
// `home`, `end`, `backspace`, `delete`, and `C-x` or `M-x` with Ctrl or Alt.

import { KEYMAP } from './keys.ts'
import type { ScreenId } from './state.ts'

/** Where a key holds. An inner context is asked before an outer one. */
export type KeyContext = 'everywhere' | ScreenId | 'ruleset'

export type ActionId =
  | `screen.${1 | 2 | 3 | 4 | 5 | 6}`
  | 'screen.next'
  | 'screen.previous'
  | 'move.down'
  | 'move.up'
  | 'move.left'
  | 'move.right'
  | 'move.pageDown'
  | 'move.pageUp'
  | 'move.halfDown'
  | 'move.halfUp'
  | 'move.first'
  | 'move.last'
  | 'move.firstColumn'
  | 'move.lastColumn'
  | 'back'
  | 'quit'
  | 'help'
  | 'palette'
  | 'filter'
  | 'filter.next'
  | 'filter.previous'
  | 'sort'
  | 'sort.reverse'
  | 'undo'
  | 'copy'
  | 'pause'
  | 'refresh'
  | 'rate.up'
  | 'rate.down'
  | 'redraw'
  | 'suspend'
  | 'cell.toggle'
  | 'cell.allow'
  | 'cell.deny'
  | 'cell.clear'
  | 'prefix.allow'
  | 'prefix.deny'
  | 'cell.why'
  | 'mark.range'
  | 'mark.one'
  | 'cell.worker'
  | 'fold'
  | 'density'
  | 'worker.filter'
  | 'freeze'
  | 'ruleset.open'
  | 'load'
  | 'worker.drain'
  | 'worker.probe'
  | 'worker.view'
  | 'worker.inventory'
  | 'worker.detail'
  | 'request.detail'
  | 'request.cancel'
  | 'request.phase'
  | 'model.jump'
  | 'model.detail'
  | 'model.capability'
  | 'model.pull'
  | 'model.explain'
  | 'tenant.open'
  | 'tenant.grant'
  | 'tenant.reset'
  | 'tenant.keys'
  | 'tenant.revoke'
  | 'tenant.undo'
  | 'tenant.pane'
  | 'tenant.paneBack'
  | 'event.expand'
  | 'event.undo'
  | 'event.follow'
  | 'event.pane'
  | 'rule.new'
  | 'rule.edit'
  | 'rule.flip'
  | 'rule.delete'
  | 'rule.mode'
  | 'rule.allowAll'
  | 'rule.onlyInstalled'
  | 'rule.blockAll'
  | 'rule.reset'
  | 'rule.json'
  | 'rule.apply'

export interface Binding {
  id: ActionId
  keys: readonly string[]
  on: KeyContext
  /** What it does, for help and docs. */
  help: string
  /** A word for the key bar; without it the key is only in the help. */
  bar?: string
  /** It changes something: refused with --read-only and while the gateway is gone. */
  changes?: true
  /** The command that does the same. */
  twin?: string
}

/** The binding of a key: that of the inner context, else that of everywhere. */
export function bindingOf(name: string, context: KeyContext): Binding | undefined {
  const fits = KEYMAP.filter(({ keys }) => keys.includes(name))
  return fits.find(({ on }) => on === context) ?? fits.find(({ on }) => on === 'everywhere')
}

/** What the key bar offers, the most used first and the help last. */
export function barOf(context: KeyContext): Binding[] {
  const shown = KEYMAP.filter(({ bar }) => bar !== undefined)
  return [
    ...shown.filter(({ on }) => on === context),
    ...shown.filter(({ on }) => on === 'everywhere'),
  ]
}

const SHOWN: Readonly<Record<string, string>> = {
  space: 'Space',
  enter: 'Enter',
  esc: 'Esc',
  tab: 'Tab',
  'S-tab': 'Shift-Tab',
  up: '↑',
  down: '↓',
  left: '←',
  right: '→',
  pgup: 'PgUp',
  pgdn: 'PgDn',
  home: 'Home',
  end: 'End',
}

/** As people write it: `Ctrl-D`, `Space`. */
export function keyName(name: string): string {
  if (name.startsWith('C-')) return `Ctrl-${name.slice(2).toUpperCase()}`
  return SHOWN[name] ?? name
}
