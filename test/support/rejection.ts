// What a promise fails with, for tests that look into it.

/** Undefined where it did not fail. */
export function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
}
