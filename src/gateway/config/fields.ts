// The kinds of values that more than one config section uses: durations, model patterns, sizes.
// Each says in its message what to write instead, because these are the mistakes people make.

import { z } from 'zod'

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/
const DURATION_HINT = 'use a string with a unit, as in "10s"'

/** A fixed bound for what nothing else bounds: a timer of Node ends at 2^31 ms (24.8 days). */
const LONGEST = '24d'

/** Milliseconds of `"250ms"`, `"10s"`, `"10m"`, `"24h"` or `"7d"`; undefined for anything else. */
export function durationMs(text: string): number | undefined {
  const [, amount, unit] = DURATION.exec(text) ?? []
  const factor = UNIT_MS[unit ?? '']
  return amount === undefined || factor === undefined ? undefined : Number(amount) * factor
}

/** A string with a unit, within bounds; a number of milliseconds once parsed. */
export function duration(min = '0s', max = LONGEST) {
  return z
    .string({ error: DURATION_HINT })
    .regex(DURATION, { error: DURATION_HINT, abort: true })
    .refine((text) => inBounds(text, min, max), { error: `must be between ${min} and ${max}` })
    .meta({ shortest: min, longest: max })
    .transform((text) => durationMs(text) ?? 0)
}

/** The shortest way to write so many milliseconds: 90000 is `"90s"`, 60000 is `"1m"`. */
export function durationText(ms: number): string {
  const unit = Object.keys(UNIT_MS).findLast((name) => ms % (UNIT_MS[name] ?? 1) === 0) ?? 'ms'
  return ms === 0 ? '0s' : `${ms / (UNIT_MS[unit] ?? 1)}${unit}`
}

function inBounds(text: string, min: string, max: string): boolean {
  const ms = durationMs(text) ?? 0
  return ms >= (durationMs(min) ?? 0) && ms <= (durationMs(max) ?? Number.POSITIVE_INFINITY)
}

/** A duration with the usual bounds, in milliseconds once parsed. */
export const Duration = duration()

const oneTrailingStar = 'only one trailing * is allowed, as in "gemma4:*"'

/** `exact:tag`, or a prefix with one trailing `*`, or `*`. A `*` anywhere else is a mistake. */
export const ModelPattern = z
  .string()
  .min(1, 'a model pattern must not be empty')
  .max(400)
  .regex(/^\S*$/, 'a model pattern has no blanks')
  .regex(/^[^*]*\*?$/, oneTrailingStar)

/** One model, by name: no pattern. */
export const ModelName = z
  .string()
  .min(1, 'a model name must not be empty')
  .max(400)
  .regex(/^\S*$/, 'a model name has no blanks')
  .regex(/^[^*]*$/, 'one model is meant here, so * is not allowed')

/** What a model can do and a request can need. */
export const Capability = z.enum([
  'completion',
  'tools',
  'vision',
  'thinking',
  'insert',
  'embedding',
  'audio',
])

/** A count with its bounds. */
export function count(min: number, max = 1_000_000) {
  return z.int().min(min).max(max)
}

/** A size in bytes with its bounds; the greatest is what one Node buffer may hold. */
export function bytes(min: number, max = 4_294_967_296) {
  return z.int().min(min).max(max)
}

/** A path on this machine. */
export const FilePath = z.string().min(1, 'a path must not be empty').max(4096)
