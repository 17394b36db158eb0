// A model that a worker could not load, or whose runner died, is kept away from that worker for a
// while. A runner that died once is started again by the next request, so the first pause is short;
// one that never starts costs its worker a load each time, so each further failure doubles it.

export interface CoolDown {
  /** Monotonic time from which the model may be tried there again. */
  until: number
  /** Milliseconds of this pause. */
  pauseMs: number
}

const FIRST_PAUSE_MS = 2_000
const LONGEST_PAUSE_MS = 30_000

/** Failures of requests that were already there when the pause began change nothing. */
export function coolDownAfter(before: CoolDown | undefined, now: number): CoolDown {
  if (before !== undefined && now < before.until) return before
  const pauseMs =
    before === undefined ? FIRST_PAUSE_MS : Math.min(before.pauseMs * 2, LONGEST_PAUSE_MS)
  return { until: now + pauseMs, pauseMs }
}

/** True once the pause has been over for so long that the next failure is a first one again. */
export function isForgotten({ until }: CoolDown, now: number): boolean {
  return now >= until + LONGEST_PAUSE_MS
}
