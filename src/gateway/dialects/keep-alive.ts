// Ollama's keep_alive: a number of seconds or a Go duration; negative means for ever.

/** Nanoseconds of the units that Go's time.ParseDuration knows. */
const UNIT_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
}

/** No duration that is meant is longer; a client's megabyte of digits is not looked at. */
const MAX_LENGTH = 100

const SIGN = /^[+-]/
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy

/** Nanoseconds, Infinity for ever, undefined for what Ollama refuses with 400 or does not see. */
export function keepAliveNs(value: unknown): number | undefined {
  if (typeof value === 'number') return foreverIfNegative(Math.trunc(value * 1e9))
  if (typeof value !== 'string' || value.length > MAX_LENGTH) return undefined
  const ns = parseGoDuration(value)
  return ns === undefined ? undefined : foreverIfNegative(ns)
}

/** Unload at once: 0, "0", "0s", "0h0m" and every other spelling of nothing. */
export function keepAliveIsZero(value: unknown): boolean {
  return keepAliveNs(value) === 0
}

function foreverIfNegative(ns: number): number {
  if (ns < 0) return Number.POSITIVE_INFINITY
  return ns === 0 ? 0 : ns // -0 becomes 0
}

function parseGoDuration(text: string): number | undefined {
  const negative = text.startsWith('-')
  const magnitude = text.replace(SIGN, '')
  if (magnitude === '0') return 0
  let ns = 0
  let end = 0
  for (const match of magnitude.matchAll(PART)) {
    ns += Math.trunc(Number(match[1]) * (UNIT_NS[match[2] ?? ''] ?? 0))
    end = match.index + match[0].length
  }
  if (end === 0 || end !== magnitude.length) return undefined
  return negative ? -ns : ns
}
