// Objects whose keys are names that strangers chose. `__proto__`, `a.b` and `1` are names like
// others, which zod's records and ordinary objects do not treat alike: these have no prototype.

import { z } from 'zod'

export type Named<T> = Readonly<Record<string, T>>

/** Reads a JSON object, with every key exactly as it is written. */
export function named<T>(values: z.ZodType<T>) {
  return z.custom<Named<unknown>>(isObject, 'an object is wanted').transform((json, context) => {
    const map = new Map<string, T>()
    for (const [name, value] of Object.entries(json)) {
      const read = values.safeParse(value)
      if (read.success) map.set(name, read.data)
      else addIssues(context, name, read.error)
    }
    return namedOf(map)
  })
}

function addIssues(context: z.RefinementCtx, name: string, error: z.ZodError): void {
  for (const { path, message } of error.issues) {
    context.addIssue({ code: 'custom', path: [name, ...path], message })
  }
}

/** The entries as an object. */
export function namedOf<T>(entries: Iterable<readonly [string, T]>): Named<T> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an object without any key yet
  const object = Object.create(null) as Record<string, T>
  for (const [name, value] of entries) object[name] = value
  return object
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
