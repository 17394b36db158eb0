// All that one frame is drawn from, and what several screens ask of it.

import type { Snapshot } from '../gateway/contract/schema/snapshot.ts'
import type { Layout } from './layout.ts'
import type { ScreenId, ScreenState, UiState } from './state.ts'
import type { Feed } from './store.ts'
import type { Samples } from './samples.ts'
import type { Line, Theme } from './theme.ts'

export interface View {
  feed: Feed
  ui: UiState
  samples: Samples
  layout: Layout
  theme: Theme
  readOnly: boolean
  /** Monotonic clock of this console. */
  mono: number
  /** Wall clock. */
  wall: number
  /** Offset of local time in minutes, as Date.getTimezoneOffset. */
  zone: number
}

/** A view with a picture of the fleet in it. */
export interface FleetView extends View {
  snapshot: Snapshot
}

/** Undefined before the first picture of the fleet came. */
export function fleetView(view: View): FleetView | undefined {
  const { snapshot } = view.feed
  return snapshot === undefined ? undefined : { ...view, snapshot }
}

/** The gateway's monotonic clock, as far as this console can tell. A gateway that is gone stands still. */
export function gatewayMono({ feed, mono }: View): number {
  const since = feed.link.kind === 'live' ? mono - feed.receivedMono : 0
  return (feed.snapshot?.mono ?? 0) + Math.max(0, since)
}

export function screenState(view: View, id: ScreenId = view.ui.screen): ScreenState {
  return view.ui.screens[id]
}

/** `14:02:11` of local time. */
export function clockTime(at: number, zone: number): string {
  return new Date(at - zone * 60_000).toISOString().slice(11, 19)
}

/** What a screen draws: its rows, and what stands below them. */
export interface Picture {
  /** As many as the body has. */
  body: readonly Line[]
  inspector: readonly Line[]
  /** Right side of the row of tabs. */
  corner: Line
}

/** Fills up to so many rows with empty ones, or cuts. */
export function fillRows(lines: readonly Line[], rows: number): Line[] {
  const filled = lines.slice(0, rows)
  while (filled.length < rows) filled.push([])
  return filled
}

/**
 * Ages by the minute: a clock that counts seconds would draw a whole screen each second for nothing.
 */
export function coarseAge(ms: number): string {
  const minutes = Math.floor(Math.max(0, ms) / 60_000)
  if (minutes < 1) return '<1m'
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours}h${String(minutes % 60).padStart(2, '0')}`
  return `${Math.floor(hours / 24)}d${String(hours % 24).padStart(2, '0')}h`
}
