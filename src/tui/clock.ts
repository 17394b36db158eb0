// Time as a dependency of the console, so that tests hold it still.

export interface Clock {
  /** Wall clock in milliseconds, only to be shown. */
  now(): number
  /** Monotonic milliseconds. */
  mono(): number
  /** Runs once after `ms`; the returned function calls it off. Keeps no process alive. */
  after(ms: number, action: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  mono: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
