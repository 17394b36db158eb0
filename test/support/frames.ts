// Frames without a terminal: a view of a fleet as the console would have it.

import type { Snapshot } from '../../src/gateway/contract/schema/snapshot.ts'
import { frame } from '../../src/tui/frame.ts'
import { layoutOf } from '../../src/tui/layout.ts'
import { takeSample, NO_SAMPLES } from '../../src/tui/samples.ts'
import { INITIAL_UI, type ScreenId, type UiState } from '../../src/tui/state.ts'
import type { Feed } from '../../src/tui/store.ts'
import type { Theme } from '../../src/tui/theme.ts'
import type { View } from '../../src/tui/view.ts'
import { PICTURE_TIME } from './large-fleet.ts'

export interface FrameAsk {
  snapshot: Snapshot | undefined
  columns?: number
  rows?: number
  screen?: ScreenId
  ui?: Partial<UiState>
  theme?: Partial<Theme>
  feed?: Partial<Feed>
  readOnly?: boolean
}

/** Monotonic clock of the console. */
export const FRAME_MONO = 50_000

export function viewOf(ask: FrameAsk): View {
  const { snapshot, columns = 120, rows = 36, screen = 'placement', ui, theme, feed } = ask
  let samples = NO_SAMPLES
  for (let at = 1; snapshot !== undefined && at <= 8; at += 1) {
    samples = takeSample(samples, snapshot, at * 5_000)
  }
  return {
    feed: {
      snapshot,
      receivedMono: FRAME_MONO,
      receivedWall: PICTURE_TIME,
      link: { kind: 'live' },
      skew: undefined,
      ...feed,
    },
    ui: { ...INITIAL_UI, screen, ...ui },
    samples,
    layout: layoutOf(columns, rows),
    theme: { color: false, ascii: false, ...theme },
    readOnly: ask.readOnly ?? false,
    mono: FRAME_MONO,
    wall: PICTURE_TIME,
    zone: 0,
  }
}

export function framed(ask: FrameAsk): string[] {
  return frame(viewOf(ask))
}

// oxlint-disable-next-line no-control-regex -- escape codes are what is taken out
const SGR = /\u001b\[[\d;]*m/g

/** As text, without styles and without blanks at the end. */
export function frameText(ask: FrameAsk): string {
  return `${framed(ask)
    .map((line) => line.replaceAll(SGR, '').trimEnd())
    .join('\n')}\n`
}
