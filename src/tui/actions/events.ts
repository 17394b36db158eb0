// Events, audit, storage, and taking back what an event tells.

import type { Console } from '../console.ts'
import { changePlacement, confirm, sayFailure } from '../operate.ts'
import { eventItems } from '../screens/events.ts'
import { inWords } from '../screens/ruleset.ts'
import type { EventsPane } from '../state.ts'
import { underCursor } from './target.ts'

const PANES: readonly EventsPane[] = ['events', 'audit', 'storage']

export function nextPane(console: Console): void {
  const pane = PANES[(PANES.indexOf(console.ui.pane) + 1) % PANES.length] ?? 'events'
  console.update({ pane })
  console.updateScreen({ row: undefined, index: 0, top: 0 }, 'events')
  loadPane(console)
}

/** Audit and storage are not in the picture that the gateway sends: they are asked for. */
export function loadPane(console: Console): void {
  const { pane } = console.ui
  if (pane === 'audit') {
    console.admin.call('audit.list', { limit: 500 }).then(
      (audit) => console.update({ audit }),
      (error: unknown) => sayFailure(console, error),
    )
  } else if (pane === 'storage') {
    console.admin.call('storage.list', {}).then(
      (storage) => console.update({ storage }),
      (error: unknown) => sayFailure(console, error),
    )
  }
}

export function toggleFollow(console: Console): void {
  const follow = !console.ui.follow
  console.update({ follow })
  if (follow) console.updateScreen({ row: undefined, index: 0, top: 0 }, 'events')
}

export function undoEvent(console: Console): void {
  const view = console.fleet()
  if (view === undefined) return
  const item = eventItems(view.snapshot, view.ui).find(({ id }) => id === underCursor(view))
  if (item?.kind === 'event' && item.row.revision !== null) askUndo(console, item.row.revision)
}

/** Shows what the edit did before it takes it back: it may be somebody else's. */
function askUndo(console: Console, id: number): void {
  console.admin.call('placement.history', { limit: 1000 }).then(
    (history) => {
      const entry = history.find((one) => one.id === id)
      if (entry === undefined) {
        console.say('error', `edit ${id} is not in the history any more`)
        return
      }
      const rules = (side: typeof entry.before): string[] =>
        side.map(
          ({ worker, rules: one }) => `${worker}: ${one === null ? 'the config' : inWords(one)}`,
        )
      confirm(console, {
        title: `undo "${entry.operation}" by ${entry.actor}?`,
        lines: [
          ...rules(entry.after).map((text) => `now     ${text}`),
          ...rules(entry.before).map((text) => `then    ${text}`),
        ],
        yes: 'undo it',
        onYes: () => undoEdit(console, id),
      })
    },
    (error: unknown) => sayFailure(console, error),
  )
}

function undoEdit(console: Console, id: number): void {
  changePlacement(console, {
    name: 'placement.undo',
    input: { id },
    what: `undo edit ${id}`,
    twin: `placement undo ${id}`,
    cells: [],
    onDone: () => console.update({ undo: console.ui.undo.filter((one) => one !== id) }),
  })
}

/** My own last edit at once; that of somebody else is shown first. */
export function undoLast(console: Console): void {
  const mine = console.ui.undo.at(-1)
  if (mine !== undefined) {
    undoEdit(console, mine)
    return
  }
  const last = console.store.snapshot?.placement.last
  if (last !== null && last !== undefined) askUndo(console, last.id)
}
