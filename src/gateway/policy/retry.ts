// Whether a request that failed before its first byte may be tried once more. Only for what
// another worker may not suffer from; never for what would be the same anywhere, and never for
// silence of a worker that answers its probe: that one is busy.

/** How one attempt failed before a byte reached the client. */
export interface AttemptFailure {
  kind:
    | 'transport'
    /** No byte, and the probe of its address failed. */
    | 'silent'
    /** No byte for upstream.first_byte_timeout although the worker answers probes. */
    | 'timeout'
    /** The worker's own 502, 503 or 504. */
    | 'worker_error'
    | 'load_failed'
    | 'missing_model'
    /** The worker's queue is full: the request waits in ours. */
    | 'busy'
}

export interface RetryLimits {
  maxAttempts: number
  /** Milliseconds from the first failure within which another attempt may begin. */
  budgetMs: number
  sinceFirstFailureMs: number
}

/** `failures` in the order of the attempts, the newest last; there is at least one. */
export function decideNext(
  failures: readonly AttemptFailure[],
  { maxAttempts, budgetMs, sinceFirstFailureMs }: RetryLimits,
): 'again' | 'give_up' {
  const newest = failures.at(-1)
  if (newest === undefined || newest.kind === 'busy') return 'again'
  if (newest.kind === 'timeout') return 'give_up'
  const counted = failures.filter(({ kind }) => kind !== 'busy').length
  return counted < maxAttempts && sinceFirstFailureMs <= budgetMs ? 'again' : 'give_up'
}
