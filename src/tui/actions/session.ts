// What concerns the console itself: help, filter, sort, palette, copying, pausing, the terminal.

import type { Console } from '../console.ts'
import { copyText } from '../copy.ts'
import { FILTER_HINT } from '../filter.ts'
import { MATRIX_SORTS } from '../screens/matrix-items.ts'
import { MODEL_SORTS } from '../screens/models.ts'
import { REQUEST_SORTS } from '../screens/requests.ts'
import { paneRowUnderCursor, TENANT_SORTS } from '../screens/tenant-items.ts'
import { WORKER_SORTS } from '../screens/workers-rows.ts'
import type { ScreenId } from '../state.ts'
import { openMenu } from './models.ts'
import { underCursor } from './target.ts'

export function openHelp(console: Console): void {
  console.open({ kind: 'help', top: 0, filter: '' })
}

/** Filters while it is typed; Esc puts back what was there. */
export function askFilter(console: Console): void {
  const { screen } = console.ui
  const before = console.ui.screens[screen].filter
  const set = (filter: string): void => console.updateScreen({ filter, top: 0 }, screen)
  console.ask({
    kind: 'filter',
    label: '/ ',
    text: before,
    hint: `Enter keep  Esc back   ${FILTER_HINT}`,
    onChange: set,
    onSubmit: set,
    onCancel: () => set(before),
  })
}

export function askWorkerFilter(console: Console): void {
  const before = console.ui.matrix.workerFilter
  const set = (workerFilter: string): void => console.updateMatrix({ workerFilter, left: 0 })
  console.ask({
    kind: 'filter',
    label: 'workers / ',
    text: before,
    hint: 'Enter keep  Esc back   state:up state:down state:draining',
    onChange: set,
    onSubmit: set,
    onCancel: () => set(before),
  })
}

const SORTS: Readonly<Record<ScreenId, Readonly<Record<string, string>>>> = {
  placement: MATRIX_SORTS,
  workers: WORKER_SORTS,
  requests: REQUEST_SORTS,
  models: MODEL_SORTS,
  tenants: TENANT_SORTS,
  events: {},
}

export function pickSort(console: Console): void {
  const { screen } = console.ui
  const sorts = Object.entries(SORTS[screen])
  if (sorts.length === 0) {
    console.say('note', 'nothing to sort here')
    return
  }
  const items = sorts.map(([by, label]) => ({
    label,
    run: () => console.updateScreen({ sort: { by, reverse: false }, top: 0 }, screen),
  }))
  openMenu(console, 'sort by', items)
}

export function reverseSort(console: Console): void {
  const { by, reverse } = console.ui.screens[console.ui.screen].sort
  console.updateScreen({ sort: { by, reverse: !reverse } })
}

const PERIODS = [250, 500, 1_000, 2_000]

export function changeRate(console: Console, step: 1 | -1): void {
  const at = PERIODS.indexOf(console.ui.period)
  const period = PERIODS[Math.max(0, Math.min(PERIODS.length - 1, at - step))] ?? 250
  console.update({ period })
  console.say('note', `${1000 / period} pictures a second at most`)
}

export function togglePause(console: Console): void {
  const paused = !console.ui.paused
  console.update({ paused })
  if (!paused) console.store.flush()
}

export function refresh(console: Console): void {
  if (console.store.getState().feed.link.kind === 'live') console.store.flush()
  else console.feed.retry()
}

export function copyName(console: Console): void {
  const view = console.fleet()
  const inPane = view === undefined ? undefined : paneRowUnderCursor(view)
  const name = inPane ?? (view === undefined ? undefined : underCursor(view))
  if (name === undefined) return
  copyText(console, name)
  console.say('done', `copied ${name}`)
}

export function quit(console: Console): void {
  console.closing.abort()
  console.terminal.quit()
}
