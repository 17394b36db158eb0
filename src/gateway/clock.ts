// Time as a dependency: whoever waits or measures gets a Clock, so that tests move it by hand.
// Durations come from `mono` and never from `now`: a wall clock jumps (NTP, a waking laptop).

export interface Timer {
  cancel(): void
}

export interface Clock {
  /** Wall clock in milliseconds since 1970: for what is shown or stored, never for durations. */
  now(): number
  /** Monotonic milliseconds from an arbitrary start. */
  mono(): number
  /** Runs `action` once after `ms`. The process does not stay alive for it. */
  after(ms: number, action: () => void): Timer
}

/** The longest wait setTimeout can hold; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  mono: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, Math.min(Math.max(ms, 0), LONGEST_TIMER_MS))
    timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
}
