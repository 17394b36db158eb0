// Going from screen to screen, and back.

import type { Console } from '../console.ts'
import { confirm } from '../operate.ts'
import { isDirty } from '../screens/ruleset.ts'
import { SCREENS, type ScreenId } from '../state.ts'
import { loadPane } from './events.ts'
import { workerUnderCursor } from './target.ts'

/** Remembers where it came from, for Esc. */
export function goToScreen(console: Console, screen: ScreenId): void {
  leaveDraft(console, () => {
    if (screen === console.ui.screen) return
    const trail = [...console.ui.trail.filter((one) => one !== screen), console.ui.screen].slice(-6)
    console.update({ screen, trail })
    if (screen === 'events' && console.ui.pane !== 'events') loadPane(console)
  })
}

export function stepScreen(console: Console, step: 1 | -1): void {
  const at = SCREENS.indexOf(console.ui.screen)
  const next = SCREENS[(at + step + SCREENS.length) % SCREENS.length]
  if (next !== undefined) goToScreen(console, next)
}

/** Closes one thing at a time; at the end it stays. It never quits. */
export function goBack(console: Console): void {
  const { ui } = console
  if (ui.draft !== undefined) {
    leaveDraft(console, () => {})
    return
  }
  if (ui.matrix.marks.size > 0 || ui.matrix.anchor !== undefined) {
    console.updateMatrix({ marks: new Set(), anchor: undefined })
    return
  }
  if (ui.screen === 'tenants' && ui.tenants.focus !== 'list') {
    console.updateTenants({ focus: 'list' })
    return
  }
  if (ui.screens[ui.screen].filter !== '') {
    console.updateScreen({ filter: '' })
    return
  }
  if (ui.screen === 'placement' && ui.matrix.workerFilter !== '') {
    console.updateMatrix({ workerFilter: '' })
    return
  }
  const screen = ui.trail.at(-1)
  if (screen !== undefined) console.update({ screen, trail: ui.trail.slice(0, -1) })
}

/** A draft that would be lost is asked for first. */
export function leaveDraft(console: Console, then: () => void): void {
  const { draft } = console.ui
  if (draft === undefined || !isDirty(draft)) {
    if (draft !== undefined) console.update({ draft: undefined })
    then()
    return
  }
  confirm(console, {
    title: `drop the draft for ${draft.worker}?`,
    lines: ['It was not applied. Ctrl-S applies it.'],
    yes: 'drop it',
    onYes: () => {
      console.update({ draft: undefined })
      then()
    },
  })
}

/** From a cell of the matrix to its worker. */
export function goToWorker(console: Console): void {
  const view = console.fleet()
  const worker = view === undefined ? undefined : workerUnderCursor(view)
  if (worker === undefined) return
  goToScreen(console, 'workers')
  console.updateScreen({ row: worker.name, filter: '' }, 'workers')
}
