// Keys whose part of the gateway is not built yet. They are accepted at their default and refused
// at anything else, so that no setting is ever silently without effect. Building a part deletes
// its rows here.

import { isDeepStrictEqual } from 'node:util'
import { durationMs } from './fields.ts'
import { knownKeys } from './known-keys.ts'
import type { Problem } from './problem.ts'
import { childPath } from './problem.ts'

export interface NotBuiltYet {
  /** As in `workers[].nvidia_smi`; a section stands for itself, not for the keys in it. */
  path: string
  /** What is missing. */
  part: string
  /** Values that work already, besides the default. */
  works?: readonly unknown[]
}

export const NOT_BUILT_YET: readonly NotBuiltYet[] = []

/** A problem for each value of the written config that would have no effect yet. */
export function notBuiltYet(raw: unknown, table = NOT_BUILT_YET): Problem[] {
  const nodes = new Map(knownKeys().map(({ path, node }) => [path, node]))
  return table.flatMap((row) => {
    const accepted = [nodes.get(row.path)?.default, ...(row.works ?? [])]
    return placesOf(raw, row.path)
      .filter(({ value }) => !accepted.some((other) => sameValue(value, other)))
      .map(({ path }) => ({
        path,
        message: `not built yet: ${row.part}`,
        suggestion: 'leave it out',
      }))
  })
}

interface Place {
  path: string
  value: unknown
}

/** Where a path such as `workers[].name` occurs in a written config. */
function placesOf(raw: unknown, pattern: string): Place[] {
  const steps = pattern.replaceAll('[]', '.[]').split('.')
  return steps.reduce<Place[]>(
    (places, step) => places.flatMap((place) => into(place, step)),
    [{ path: '', value: raw }],
  )
}

function into({ path, value }: Place, step: string): Place[] {
  if (step === '[]') {
    const items: unknown[] = Array.isArray(value) ? value : []
    return items.map((item, index) => ({ path: childPath(path, index), value: item }))
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value)
    .filter(([key]) => key === step)
    .map(([key, item]: [string, unknown]) => ({ path: childPath(path, key), value: item }))
}

/** `"60s"` and `"1m"` are one value. */
function sameValue(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' && typeof b === 'string' && durationMs(a) !== undefined) {
    return durationMs(a) === durationMs(b)
  }
  return isDeepStrictEqual(a, b)
}
