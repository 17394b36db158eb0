// From the bytes of a body to the fields of a request, with Go's complaints.

import { decodeStruct, type Decoded, type Struct } from './decode.ts'
import { SimError } from './errors.ts'
import { GoJsonError, isObject, parseFirst } from './go-json.ts'
import type { Exchange } from './sim.ts'

/** A native handler says `missing request body` where a middleware says `EOF`. */
export function bind({ text }: Pick<Exchange, 'text'>, struct: Struct, goName: string): Decoded {
  try {
    return decodeStruct(parseFirst(text), struct, goName)
  } catch (error) {
    if (!(error instanceof GoJsonError)) throw error
    const native = goName.startsWith('api.')
    const message = native && error.message === 'EOF' ? 'missing request body' : error.message
    throw new SimError(400, message, { from: 'binding' })
  }
}

export const bindingError = (message: string): SimError =>
  new SimError(400, message, { from: 'binding' })

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

export const objectOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? // Checked just above; the values stay unknown.
      (value as Readonly<Record<string, unknown>>)
    : {}

export const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : undefined

/** The model a body names, for the record and for faults; undefined where none can be read. */
export function peekModel(body: Buffer, contentType: string): string | undefined {
  if (contentType.includes('multipart/form-data')) {
    return /name="model"\r\n\r\n([^\r]*)/u.exec(body.toString('latin1'))?.[1]
  }
  if (body.length === 0) return undefined
  try {
    const value = parseFirst(body.toString('utf8'))
    if (!isObject(value)) return undefined
    const named = (key: string): string | undefined =>
      textOf(value.entries.findLast(([name]) => name.toLowerCase() === key)?.[1]) || undefined
    return named('model') ?? named('name') ?? named('source')
  } catch {
    // Not JSON: the handler says so; for the record there is no model.
    return undefined
  }
}
