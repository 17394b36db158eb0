// One slot on one worker, as the caller holds it.

import type { Ask, Decision, Lease } from './ask.ts'

export interface LeaseFacts {
  ask: Ask
  reloads: boolean
  worker: string
  queueMs: number
  warm: boolean
  loadFirst: boolean
  decision: Decision
  /** Called at most once each, and never after the end. */
  onBegun(): void
  /** With 0 at the end, where nobody has said what was used. */
  onUsed(tokens: number): void
  onEnd(): void
}

/** Whatever the caller does, and however often, the slot goes back exactly once. */
export function leaseOf({ onBegun, onUsed, onEnd, ...facts }: LeaseFacts): Lease {
  let begun = false
  let used = false
  let ended = false
  return {
    ...facts,
    begun() {
      if (begun || ended) return
      begun = true
      onBegun()
    },
    used(tokens) {
      if (used || ended) return
      used = true
      onUsed(tokens)
    },
    [Symbol.dispose]() {
      if (ended) return
      this.used(0)
      ended = true
      onEnd()
    },
  }
}
