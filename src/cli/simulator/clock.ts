// Time as the simulated worker sees it. Real timers by default; a test that
// wants five minutes to pass moves a manual clock instead of waiting.

export interface SimClock {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls back once after that many milliseconds; the answer cancels it. */
  after(ms: number, callback: () => void): () => void
}

export interface ManualClock extends SimClock {
  /** Moves time forward and runs, in order, what falls due. */
  advance(ms: number): void
  /** Timers not yet due. */
  readonly pending: number
}

export const realClock: SimClock = {
  now: () => Date.now(),
  after(ms, callback) {
    // setTimeout treats anything above 2^31-1 as 1 ms; such a wait is forever here.
    const timer = setTimeout(callback, Math.min(ms, 2_147_483_647))
    return () => clearTimeout(timer)
  },
}

export function manualClock(startMs = 1_796_003_000_000): ManualClock {
  let now = startMs
  let order = 0
  const timers = new Map<number, { at: number; callback: () => void }>()
  return {
    now: () => now,
    after(ms, callback) {
      order += 1
      const id = order
      timers.set(id, { at: now + Math.max(0, ms), callback })
      return () => void timers.delete(id)
    },
    advance(ms) {
      const end = now + ms
      for (;;) {
        const due = [...timers].filter(([, timer]) => timer.at <= end)
        const next = due.toSorted(([a, x], [b, y]) => x.at - y.at || a - b)[0]
        if (next === undefined) break
        timers.delete(next[0])
        now = Math.max(now, next[1].at)
        next[1].callback()
      }
      now = end
    },
    get pending() {
      return timers.size
    },
  }
}

/** Waits; rejects with the signal's reason when it is aborted first. */
export function sleep(clock: SimClock, ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  if (ms <= 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancel()
      reject(signal?.reason as Error)
    }
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
