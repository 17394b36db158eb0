// What becomes of a client's keep_alive: one client's "for ever" pins a GPU for everybody.

/** Milliseconds; -1 = for ever; null = no rule. */
export interface KeepAliveRules {
  max: number | null
  override: number | null
}

/**
 * The JSON text to send instead, undefined where the client's own stays. `sentNs` is what the
 * client asked for in nanoseconds, undefined where Ollama would not understand it either: that is
 * the worker's to say.
 */
export function governKeepAlive(
  { max, override }: KeepAliveRules,
  sentNs: number | undefined,
): string | undefined {
  if (override !== null) return textOf(override)
  if (max === null || max < 0 || sentNs === undefined) return undefined
  return sentNs > max * 1e6 ? textOf(max) : undefined
}

const textOf = (ms: number): string => (ms < 0 ? '-1' : JSON.stringify(`${ms}ms`))
