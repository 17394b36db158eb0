// A key that was typed before a box could be read must not answer it.

import type { Console } from './console.ts'

const TYPE_AHEAD_MS = 300

export function isTypedAhead(console: Console, { openedMono }: { openedMono: number }): boolean {
  return console.store.clock.mono() - openedMono < TYPE_AHEAD_MS
}
