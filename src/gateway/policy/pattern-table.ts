// A value by model: the exact name, else the longest prefix, else `*`. Concurrency limits and
// context limits are written this way.

import { parsePattern } from './model-name.ts'

export type PatternTable = Readonly<Record<string, number>>

interface CompiledTable {
  exact: ReadonlyMap<string, number>
  /** The longest first, so that the first match is the most specific one; `*` comes last. */
  prefixes: readonly { prefix: string; value: number }[]
}

/** Tables are part of the config and never change; each is put in order once. */
const compiled = new WeakMap<PatternTable, CompiledTable>()

/** The most specific value for a canonical model key; undefined where no pattern matches. */
export function valueFor(table: PatternTable, key: string): number | undefined {
  let ready = compiled.get(table)
  if (ready === undefined) {
    ready = compile(table)
    compiled.set(table, ready)
  }
  const exact = ready.exact.get(key)
  if (exact !== undefined) return exact
  for (const { prefix, value } of ready.prefixes) {
    if (key.startsWith(prefix)) return value
  }
  return undefined
}

/** Two spellings of one pattern mean the lower of their values: a limit is not dodged. */
function compile(table: PatternTable): CompiledTable {
  const values = new Map<string, number>()
  for (const [text, value] of Object.entries(table)) {
    const parsed = parsePattern(text)
    const pattern = parsed.ok ? parsed.pattern : text.toLowerCase()
    values.set(pattern, Math.min(value, values.get(pattern) ?? value))
  }
  const prefixes = [...values]
    .filter(([pattern]) => pattern.endsWith('*'))
    .map(([pattern, value]) => ({ prefix: pattern.slice(0, -1), value }))
    .toSorted((a, b) => b.prefix.length - a.prefix.length)
  return { exact: values, prefixes }
}
