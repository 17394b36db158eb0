// A clock that stands still until a test moves it. Timers fire in the order of their time, and one
// that is set by another fires in the same move if its time has come.

import type { Clock, Timer } from '../../src/gateway/clock.ts'

export interface ManualClock extends Clock {
  /** Moves both clocks on by `ms` and fires what is due on the way. */
  advance(ms: number): void
  /** Timers that are set and have neither fired nor been cancelled. */
  readonly pending: number
}

interface Entry {
  at: number
  action: () => void
}

/** Starts at monotonic time 1,000 and the given wall clock. */
export function manualClock(wall = Date.UTC(2026, 10, 30)): ManualClock {
  let mono = 1_000
  const entries = new Set<Entry>()

  const nextUntil = (limit: number): Entry | undefined => {
    let next: Entry | undefined
    for (const entry of entries) {
      if (entry.at <= limit && (next === undefined || entry.at < next.at)) next = entry
    }
    return next
  }

  return {
    now: () => wall + mono - 1_000,
    mono: () => mono,
    after(ms, action): Timer {
      const entry = { at: mono + Math.max(0, ms), action }
      entries.add(entry)
      return { cancel: () => void entries.delete(entry) }
    },
    advance(ms) {
      const limit = mono + ms
      for (let entry = nextUntil(limit); entry !== undefined; entry = nextUntil(limit)) {
        entries.delete(entry)
        mono = Math.max(mono, entry.at)
        entry.action()
      }
      mono = limit
    },
    get pending() {
      return entries.size
    },
  }
}
