// Reading a decoded body the way Ollama's own decoder (Go's encoding/json) would: keys match
// without regard to case, null is absent, and a value of the wrong type is simply not there,
// because it is the worker that words what is wrong with it.

export type JsonRecord = Readonly<Record<string, unknown>>

/** Go also folds the long s and the Kelvin sign; the latter is lower-cased by JavaScript too. */
export function foldKey(key: string): string {
  return key.toLowerCase().replaceAll('ſ', 's')
}

/** The top level of a body by folded key, nulls left out. */
export type Fields = ReadonlyMap<string, unknown>

export function foldKeys(body: JsonRecord): Fields {
  const fields = new Map<string, unknown>()
  for (const [key, value] of Object.entries(body)) {
    if (value !== null) fields.set(foldKey(key), value)
  }
  return fields
}

/** One member of a nested object; the exact key is tried first because clients nearly all use it. */
export function field(object: JsonRecord, name: string): unknown {
  const exact = object[name]
  if (exact !== undefined) return exact ?? undefined
  for (const key in object) {
    if (key.length === name.length && foldKey(key) === name) return object[key] ?? undefined
  }
  return undefined
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function record(value: unknown): JsonRecord | undefined {
  return isRecord(value) ? value : undefined
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A bound on output tokens; zero, negative and anything but a number name no bound. */
export function positiveInteger(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  const whole = Math.trunc(value)
  return whole > 0 ? whole : undefined
}

/**
 * About as many characters as the value takes as JSON. Not JSON.stringify, which overflows the
 * stack on a body of nothing but brackets and would copy every schema.
 */
export function jsonLength(value: unknown): number {
  const pending: unknown[] = [value]
  let length = 0
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next === 'string') length += next.length + 2
    else if (Array.isArray(next)) {
      length += 1 + Math.max(1, next.length)
      for (const item of next) pending.push(item)
    } else if (isRecord(next)) {
      length += 2
      for (const key in next) {
        length += key.length + 4
        pending.push(next[key])
      }
    } else length += String(next).length
  }
  return length
}
