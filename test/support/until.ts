// Tests never sleep to let something happen: they name what they wait for and
// poll it, so that a slow machine makes a test slower, not wrong.

export interface UntilOptions {
  /** Milliseconds before the wait fails. Default 10000. */
  timeoutMs?: number
  /** Milliseconds between two looks. Default 5. */
  intervalMs?: number
  /** Said in the error of a wait that failed, as in `the slot to come back`. */
  what?: string
}

/** What a condition may answer while it does not hold yet. */
type NotYet = false | undefined | null | 0 | ''

/**
 * Polls the condition until it holds and returns what it answered. A condition
 * that throws counts as not holding yet; its last error is the cause of the
 * failure when the time is over.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  options: UntilOptions = {},
): Promise<Exclude<T, NotYet>> {
  const { timeoutMs = 10_000, intervalMs = 5, what = 'the condition to hold' } = options
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const { value, cause } = await look(condition)
    // A truthy answer is by definition none of the NotYet values.
    if (value) return value as Exclude<T, NotYet>
    if (performance.now() >= deadline) {
      throw new Error(`waited ${timeoutMs} ms in vain for ${what}`, { cause })
    }
    await new Promise((resolve) => setTimeout(resolve, intervalMs))
  }
}

async function look<T>(
  condition: () => T | Promise<T>,
): Promise<{ value: T | undefined; cause?: unknown }> {
  try {
    return { value: await condition() }
  } catch (cause) {
    return { value: undefined, cause }
  }
}
