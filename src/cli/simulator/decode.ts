// Binds a parsed body to a request struct as Go does: keys match without case,
// the last one wins, unknown keys are ignored, null leaves a field unset, and the
// first value of a wrong type is reported in Go's words.

import { GoJsonError, isList, isObject, plain, type GoValue } from './go-json.ts'

/** A field's type. Functions are custom decoders, which word their own errors. */
export type GoType =
  | 'string'
  | 'bool'
  | 'int'
  | 'float64'
  | 'any'
  | { list: GoType; go: string }
  | { struct: Struct; go: string }
  | { custom: (value: GoValue) => unknown }

export type Struct = Readonly<Record<string, GoType>>

export type Decoded = Record<string, unknown>

interface Path {
  root: string
  fields: readonly string[]
}

interface Report {
  first: string | undefined
}

/** `api.ChatRequest` is worded whole at the top and without its package in a field. */
export function decodeStruct(value: GoValue, struct: Struct, goName: string): Decoded {
  const report: Report = { first: undefined }
  if (value !== null && !isObject(value)) {
    throw new GoJsonError(`json: cannot unmarshal ${kindOf(value)} into Go value of type ${goName}`)
  }
  const root = goName.slice(goName.lastIndexOf('.') + 1)
  const decoded = fill(value, struct, { root, fields: [] }, report)
  if (report.first !== undefined) throw new GoJsonError(report.first)
  return decoded
}

function fill(value: GoValue, struct: Struct, path: Path, report: Report): Decoded {
  const decoded: Decoded = {}
  if (!isObject(value)) return decoded
  const byFold = new Map(Object.keys(struct).map((name) => [name.toLowerCase(), name]))
  for (const [key, item] of value.entries) {
    const name = key in struct ? key : byFold.get(key.toLowerCase())
    const type = name === undefined ? undefined : struct[name]
    if (name === undefined || type === undefined) continue
    const result = decode(item, type, { root: path.root, fields: [...path.fields, name] }, report)
    if (result !== undefined) decoded[name] = result
  }
  return decoded
}

function decode(value: GoValue, type: GoType, path: Path, report: Report): unknown {
  if (typeof type === 'object' && 'custom' in type) return type.custom(value)
  if (value === null) return undefined
  if (type === 'any') return plain(value)
  if (typeof type === 'string') return decodeScalar(value, type, path, report)
  if ('list' in type) {
    if (!isList(value)) return mismatch(value, type.go, path, report)
    return value.map((item) => decode(item, type.list, path, report))
  }
  if (!isObject(value)) return mismatch(value, type.go, path, report)
  return fill(value, type.struct, path, report)
}

function decodeScalar(
  value: GoValue,
  type: 'string' | 'bool' | 'int' | 'float64',
  path: Path,
  report: Report,
): unknown {
  if (type === 'string' && typeof value === 'string') return value
  if (type === 'bool' && typeof value === 'boolean') return value
  if (type === 'float64' && typeof value === 'number') return value
  if (type === 'int' && typeof value === 'number') {
    if (Number.isInteger(value)) return value
    return mismatch(`number ${value}`, type, path, report)
  }
  return mismatch(value, type, path, report)
}

function mismatch(value: GoValue, go: string, path: Path, report: Report): undefined {
  const kind = typeof value === 'string' && value.startsWith('number ') ? value : kindOf(value)
  const field = `${path.root}.${path.fields.join('.')}`
  report.first ??= `json: cannot unmarshal ${kind} into Go struct field ${field} of type ${go}`
  return undefined
}

function kindOf(value: GoValue): string {
  if (isList(value)) return 'array'
  if (isObject(value)) return 'object'
  if (value === null) return 'null'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

const NANOS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}

/** `keep_alive` in milliseconds; Infinity for "forever". */
export function decodeKeepAlive(value: GoValue): number | undefined {
  if (value === null) return undefined
  if (typeof value === 'number') return value < 0 ? Infinity : value * 1000
  if (typeof value === 'string') {
    const ms = parseGoDuration(value)
    return ms < 0 ? Infinity : ms
  }
  const type =
    typeof value === 'boolean'
      ? 'bool'
      : isList(value)
        ? '[]interface {}'
        : 'map[string]interface {}'
  throw new GoJsonError(`Unsupported type: '${type}'`)
}

/** time.ParseDuration, in milliseconds. */
export function parseGoDuration(text: string): number {
  const quoted = JSON.stringify(text)
  const sign = text.startsWith('-') ? -1 : 1
  let rest = text.replace(/^[+-]/u, '')
  if (rest === '0') return 0
  if (rest === '') throw new GoJsonError(`time: invalid duration ${quoted}`)
  let total = 0
  while (rest !== '') {
    const number = /^(?:\d+\.?\d*|\.\d+)/u.exec(rest)?.[0]
    if (number === undefined) throw new GoJsonError(`time: invalid duration ${quoted}`)
    rest = rest.slice(number.length)
    const unit = /^[^\d.]+/u.exec(rest)?.[0]
    if (unit === undefined) throw new GoJsonError(`time: missing unit in duration ${quoted}`)
    const scale = NANOS[unit]
    if (scale === undefined) {
      throw new GoJsonError(`time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`)
    }
    total += Number(number) * scale
    rest = rest.slice(unit.length)
  }
  return sign * total
}

export type Think = boolean | string

/** `think`: a boolean or one of the levels. */
function decodeThink(value: GoValue): Think | undefined {
  if (value === null) return undefined
  if (typeof value === 'boolean') return value
  const choices = '"high", "medium", "low", "max", true, or false'
  if (typeof value !== 'string') {
    throw new GoJsonError(`think must be a boolean or string (${choices})`)
  }
  if (!['high', 'medium', 'low', 'max'].includes(value)) {
    throw new GoJsonError(`invalid think value: ${JSON.stringify(value)} (must be ${choices})`)
  }
  return value
}

/** One base64 image; Go names the byte where it stops being base64. */
function decodeBase64(value: GoValue): string | undefined {
  if (typeof value !== 'string') return undefined
  const compact = value.replaceAll(/[\r\n]/gu, '')
  const wrong = /[^A-Za-z0-9+/]/u.exec(compact.replace(/={1,2}$/u, ''))
  const at = wrong?.index ?? (compact.length % 4 === 0 ? -1 : compact.length)
  if (at >= 0) throw new GoJsonError(`illegal base64 data at input byte ${at}`)
  return compact
}

// ---- the request structs ----

const MESSAGE: Struct = {
  role: 'string',
  content: 'string',
  thinking: 'string',
  images: { list: { custom: decodeBase64 }, go: '[]api.ImageData' },
  tool_calls: { list: 'any', go: '[]api.ToolCall' },
  tool_name: 'string',
  tool_call_id: 'string',
}

const COMMON: Struct = {
  model: 'string',
  stream: 'bool',
  format: 'any',
  keep_alive: { custom: decodeKeepAlive },
  think: { custom: decodeThink },
  truncate: 'bool',
  shift: 'bool',
  logprobs: 'bool',
  top_logprobs: 'int',
  _debug_render_only: 'bool',
}

export const CHAT_REQUEST: Struct = {
  ...COMMON,
  messages: { list: { struct: MESSAGE, go: 'api.Message' }, go: '[]api.Message' },
  tools: { list: 'any', go: 'api.Tools' },
  options: 'any',
}

export const GENERATE_REQUEST: Struct = {
  ...COMMON,
  prompt: 'string',
  suffix: 'string',
  system: 'string',
  template: 'string',
  context: { list: 'int', go: '[]int' },
  raw: 'bool',
  images: { list: { custom: decodeBase64 }, go: '[]api.ImageData' },
  options: 'any',
}

export const EMBED_REQUEST: Struct = {
  model: 'string',
  input: 'any',
  truncate: 'bool',
  dimensions: 'int',
  keep_alive: { custom: decodeKeepAlive },
  options: 'any',
}

export const EMBEDDINGS_REQUEST: Struct = {
  model: 'string',
  prompt: 'string',
  keep_alive: { custom: decodeKeepAlive },
  options: 'any',
}
