// How many requests for one model a worker may have in flight at once.

import { valueFor } from './pattern-table.ts'
import type { PatternTable } from './pattern-table.ts'

export interface ConcurrencyRules {
  readonly max_concurrent: number
  readonly model_concurrency: PatternTable
}

/** The exact name, else the longest prefix, else `*`, else max_concurrent, and never more than it. */
export function modelLimit(rules: ConcurrencyRules, key: string): number {
  const { max_concurrent: most } = rules
  return Math.min(valueFor(rules.model_concurrency, key) ?? most, most)
}
