// The breaker of one worker decides whether new requests may try a worker whose connections keep
// failing. It counts transport faults only: a client's mistake, a client that left and a worker
// that is busy are no reason to leave a worker alone.
//
// Half-open is not stored: it is an open breaker whose pause is over. It lets one slot through, and
// what that request brings home (a first byte or another fault) is the next state. A trial that
// ends without a verdict, because its client left, leaves the place to the next one.

export interface BreakerLimits {
  /** Faults within `window` that open it. */
  failures: number
  /** Milliseconds a fault counts. */
  window: number
  /** Milliseconds of the first pause; it doubles with each failed trial. */
  open: number
  /** Milliseconds of the longest pause. */
  max_open: number
}

export type BreakerState =
  /** Monotonic times of the faults that still count, oldest first. */
  | { phase: 'closed'; faults: readonly number[] }
  /** Nothing new until the monotonic time `until`, then one trial. */
  | { phase: 'open'; until: number; pauseMs: number }

export type BreakerGate = 'closed' | 'open' | 'half_open'

export const closedBreaker: BreakerState = { phase: 'closed', faults: [] }

/** `half_open` admits exactly one request at a time; the others wait for what it finds out. */
export function breakerGate(state: BreakerState, now: number): BreakerGate {
  if (state.phase === 'closed') return 'closed'
  return now < state.until ? 'open' : 'half_open'
}

/** Monotonic time from which a trial may go; undefined while closed. */
export function nextTryAt(state: BreakerState): number | undefined {
  return state.phase === 'open' ? state.until : undefined
}

/** A transport fault on a request. Late faults of requests from before it opened change nothing. */
export function breakerFault(
  state: BreakerState,
  limits: BreakerLimits,
  now: number,
): BreakerState {
  switch (breakerGate(state, now)) {
    case 'open':
      return state
    case 'half_open':
      return opened(state.phase === 'open' ? state.pauseMs * 2 : limits.open, limits, now)
    case 'closed': {
      const before = state.phase === 'closed' ? state.faults : []
      const faults = [...before.filter((at) => now - at < limits.window), now]
      return faults.length >= limits.failures
        ? opened(limits.open, limits, now)
        : { phase: 'closed', faults }
    }
  }
}

/** A first byte of an answer: a trial that succeeded closes it. Faults that count go on counting. */
export function breakerAnswer(state: BreakerState, now: number): BreakerState {
  return breakerGate(state, now) === 'half_open' ? closedBreaker : state
}

function opened(pauseMs: number, limits: BreakerLimits, now: number): BreakerState {
  const pause = Math.min(pauseMs, Math.max(limits.max_open, limits.open))
  return { phase: 'open', until: now + pause, pauseMs: pause }
}
