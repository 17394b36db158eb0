// Numbers as people read them: short, with a unit, never negative and never NaN. A value that is
// not known is `-`, which is another thing than 0.

/** What stands for "not known" or "does not apply". */
export const NONE = '-'

/** A span such as `850ms`, `12s`, `3m12s`, `2h05m`, `3d04h`. */
export function duration(ms: number | null | undefined): string {
  if (!isKnown(ms)) return NONE
  const span = Math.max(0, ms)
  if (span < 1000) return `${Math.round(span)}ms`
  const seconds = Math.floor(span / 1000)
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return pair(Math.floor(seconds / 60), 'm', seconds % 60, 's')
  if (seconds < 86_400)
    return pair(Math.floor(seconds / 3600), 'h', Math.floor(seconds / 60) % 60, 'm')
  return pair(Math.floor(seconds / 86_400), 'd', Math.floor(seconds / 3600) % 24, 'h')
}

/** How long ago a moment was. One in the future (the clock was set back) is `0s`. */
export function age(at: string | number | null | undefined, now: number): string {
  if (at === null || at === undefined) return NONE
  const then = typeof at === 'number' ? at : Date.parse(at)
  if (Number.isNaN(then)) return NONE
  const seconds = Math.floor(Math.max(0, now - then) / 1000)
  return seconds === 0 ? '0s' : duration(seconds * 1000)
}

/** Decimal, as `ollama list` counts: `523MB`, `5.2GB`. */
export function bytes(count: number | null | undefined): string {
  if (!isKnown(count)) return NONE
  const { amount, unit } = scaled(count, ['B', 'kB', 'MB', 'GB', 'TB', 'PB'])
  return `${short(amount, unit === 'B')}${unit}`
}

/** Tokens of an account, always in five cells or less: `640`, `1.2k`, `99.6k`, `9.7M`, `1.5G`. */
export function tokens(value: number): string {
  const { amount, unit } = scaled(value, ['', 'k', 'M', 'G', 'T', 'P'])
  const text = unit === '' || amount >= 99.95 ? String(Math.round(amount)) : amount.toFixed(1)
  return `${text.replace(/\.0$/, '')}${unit}`
}

/** In the largest unit of which there is one at least; below 0 is 0. */
function scaled(value: number, units: readonly string[]): { amount: number; unit: string } {
  let amount = Math.max(0, value)
  let step = 0
  while (amount >= 999.5 && step < units.length - 1) {
    amount /= 1000
    step += 1
  }
  return { amount, unit: units[step] ?? '' }
}

/** Tokens a second, `46/s` or `4.6/s`. */
export function rate(perSecond: number | null | undefined): string {
  return isKnown(perSecond) ? `${short(Math.max(0, perSecond), false)}/s` : NONE
}

/** `640`, `1.2k`, `22k`, `3.4M`. */
export function count(value: number | null | undefined): string {
  if (!isKnown(value)) return NONE
  const amount = Math.max(0, value)
  if (amount < 1000) return String(Math.round(amount))
  if (amount < 999_500) return `${short(amount / 1000, false)}k`
  return `${short(amount / 1_000_000, false)}M`
}

/** Tokens of a context, which are mostly powers of two: 8192 is `8k`. */
export function contextSize(tokens: number | null | undefined): string {
  if (!isKnown(tokens)) return NONE
  return tokens > 0 && tokens % 1024 === 0 && tokens < 1024 * 1024
    ? `${tokens / 1024}k`
    : count(tokens)
}

/** A share between 0 and 1 as `87%`, a small one as `0.2%`: a few errors are not none. */
export function percent(share: number | null | undefined): string {
  if (!isKnown(share)) return NONE
  const hundredths = Math.max(0, share) * 100
  return `${hundredths < 0.95 ? short(hundredths, false) : Math.round(hundredths)}%`
}

/** `1 worker`, `3 workers`. */
export function plural(amount: number, one: string, many: string = `${one}s`): string {
  return `${amount} ${amount === 1 ? one : many}`
}

function isKnown(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

function pair(big: number, bigUnit: string, small: number, smallUnit: string): string {
  return `${big}${bigUnit}${String(small).padStart(2, '0')}${smallUnit}`
}

function short(value: number, whole: boolean): string {
  return whole || value >= 9.95 ? String(Math.round(value)) : value.toFixed(1).replace(/\.0$/, '')
}
