// The part of a list that a visitor may use. Kept while neither the list nor the visitor's rights
// change, so that what is made of it can be kept too.

import { mayUse } from '../access/visitor.ts'
import type { ModelAccess } from '../access/visitor.ts'

type Rows<T> = ReadonlyMap<string, T>

const kept = new WeakMap<object, WeakMap<object, Rows<unknown>>>()

/** By model key; the very same list where nothing binds the visitor. */
export function allowedRows<T>(rows: Rows<T>, access: ModelAccess): Rows<T> {
  if (access === undefined) return rows
  let byAccess = kept.get(rows)
  if (byAccess === undefined) kept.set(rows, (byAccess = new WeakMap()))
  const known = byAccess.get(access)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored below, made of these rows
  if (known !== undefined) return known as Rows<T>
  const allowed = new Map([...rows].filter(([key]) => mayUse(access, key)))
  byAccess.set(access, allowed)
  return allowed
}
