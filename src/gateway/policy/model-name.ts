// Model names: what Ollama takes for one and the same model becomes one and the same key here.
//
// Everything here is pure. The key is used for maps, placement, concurrency, affinity and metrics,
// so that no spelling (case, `library/`, a host, blanks, a missing `:latest`) dodges a rule. It is
// the lower-cased display form: default host and namespace dropped, tag always there.

/** One model, whatever the spelling. */
export interface ModelName {
  /** As Ollama lists it, in the case it was written. Cloud names keep their cloud tag. */
  display: string
  /** Canonical: equal for every spelling of one model. */
  key: string
  /** Ollama would run it on ollama.com or on another remote host. */
  cloud: boolean
  /** The client insisted on a local copy with `:local`. */
  local: boolean
}

export type ParsedName = { ok: true; name: ModelName } | { ok: false; reason: string }

/** A normalised placement or ACL pattern: `qwen3:8b` is exact, `gemma4:*` and `*` are prefixes. */
export type ParsedPattern =
  | { ok: true; pattern: string; exact: boolean }
  | { ok: false; reason: string }

const DEFAULT_HOST = 'registry.ollama.ai'
const DEFAULT_NAMESPACE = 'library'
const DEFAULT_TAG = 'latest'

/** Ollama's own character rules and lengths; a namespace has no dot. */
const HOST = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,349}$/
const NAMESPACE = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,79}$/
const MODEL = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$/
const TAG = MODEL

/** Longer than the longest valid name; anything longer is not even looked at. */
const MAX_NAME_LENGTH = 700

/** Reads a name as a client sends it. The reasons are Ollama's words. */
export function parseModelName(raw: string): ParsedName {
  const text = raw.trim()
  if (text === '') return { ok: false, reason: 'model is required' }
  const { base, source } = splitSource(text)
  if (source !== undefined && splitSource(base).source !== undefined) {
    return { ok: false, reason: `use either :local or :cloud, not both: "${shorten(text)}"` }
  }
  const parts = parseParts(base)
  if (parts === undefined) return { ok: false, reason: 'invalid model name' }
  const cloud = source === 'cloud'
  const display = displayOf(cloud ? { ...parts, tag: cloudTag(parts.tag) } : parts)
  return {
    ok: true,
    name: { display, key: display.toLowerCase(), cloud, local: source === 'local' },
  }
}

/**
 * Reads a name as a worker lists it: there a `-cloud` tag is part of the name. It is a cloud model
 * if the worker says that it runs elsewhere, or if Ollama would read a request for it so.
 */
export function parseInventoryName(
  raw: string,
  model: { remoteHost?: string | undefined } = {},
): ParsedName {
  const parts = parseParts(raw.trim())
  if (parts === undefined) return { ok: false, reason: 'invalid model name' }
  const display = displayOf(parts)
  const cloud = (model.remoteHost ?? '') !== '' || splitSource(display).source === 'cloud'
  return { ok: true, name: { display, key: display.toLowerCase(), cloud, local: false } }
}

/** Normalises a pattern, so that `QWEN3:*` and `library/qwen3` mean what they say. */
export function parsePattern(text: string): ParsedPattern {
  const trimmed = text.trim()
  if (trimmed === '') return { ok: false, reason: 'a model pattern must not be empty' }
  const star = trimmed.indexOf('*')
  if (star === -1) return parseExactPattern(trimmed)
  if (star !== trimmed.length - 1) {
    return {
      ok: false,
      reason: `"${shorten(text)}": only one trailing * is allowed, as in "gemma4:*"`,
    }
  }
  return parsePrefixPattern(trimmed)
}

function parseExactPattern(text: string): ParsedPattern {
  const parsed = parseModelName(text)
  if (parsed.ok) return { ok: true, pattern: parsed.name.key, exact: true }
  return { ok: false, reason: `"${shorten(text)}" is not a model: ${parsed.reason}` }
}

function parsePrefixPattern(text: string): ParsedPattern {
  if (text === '*') return { ok: true, pattern: '*', exact: false }
  const written = text.slice(0, -1).toLowerCase()
  const prefix = written.replace(/^(?:(?:[a-z]+:\/\/)?registry\.ollama\.ai\/)?(?:library\/)?/, '')
  if (prefix === '') {
    return {
      ok: false,
      reason: `"${shorten(text)}" would match every model; write "*" if that is meant`,
    }
  }
  if (prefix.length > MAX_NAME_LENGTH || !/^[a-z0-9_][a-z0-9_.:/-]*$/.test(prefix)) {
    return { ok: false, reason: `"${shorten(text)}" cannot be the beginning of a model name` }
  }
  return { ok: true, pattern: `${prefix}*`, exact: false }
}

type Source = 'cloud' | 'local'

/** Cuts `:cloud`, `:local` or the `-cloud` of a tag off, as Ollama does before it reads the name. */
function splitSource(text: string): { base: string; source: Source | undefined } {
  const colon = text.lastIndexOf(':')
  if (colon === -1) return { base: text, source: undefined }
  const last = text.slice(colon + 1).trim()
  const lower = last.toLowerCase()
  if (lower === 'cloud' || lower === 'local') {
    return { base: text.slice(0, colon).trim(), source: lower }
  }
  if (lower.endsWith('-cloud') && !lower.includes('/')) {
    return { base: text.slice(0, colon + 1) + last.slice(0, -'-cloud'.length), source: 'cloud' }
  }
  return { base: text, source: undefined }
}

/** Cloud models are listed as `name:cloud` or `name:size-cloud`; every spelling becomes that one. */
function cloudTag(tag: string): string {
  return tag.toLowerCase() === DEFAULT_TAG ? 'cloud' : `${tag}-cloud`
}

interface NameParts {
  host: string
  namespace: string
  model: string
  tag: string
}

/** Splits from the right, as Ollama does; undefined if any part is not valid. */
function parseParts(text: string): NameParts | undefined {
  if (text.length > MAX_NAME_LENGTH) return undefined
  const hasTag = text.lastIndexOf(':') > text.lastIndexOf('/')
  const [path, tag = DEFAULT_TAG] = hasTag ? cutLast(text, ':') : [text]
  const [beforeModel, model = path] = cutLast(path, '/')
  const [beforeNamespace, namespace] =
    model === path ? ['', DEFAULT_NAMESPACE] : cutLast(beforeModel, '/')
  const parts = {
    host: namespace === undefined || model === path ? DEFAULT_HOST : withoutScheme(beforeNamespace),
    namespace: namespace ?? beforeModel,
    model,
    tag,
  }
  return isValid(parts) ? parts : undefined
}

/** What is before and after the last separator; one element where there is none. */
function cutLast(text: string, separator: string): [string, string?] {
  const at = text.lastIndexOf(separator)
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}

function withoutScheme(host: string): string {
  const at = host.indexOf('://')
  return at === -1 ? host : host.slice(at + 3)
}

function isValid({ host, namespace, model, tag }: NameParts): boolean {
  return HOST.test(host) && NAMESPACE.test(namespace) && MODEL.test(model) && TAG.test(tag)
}

function displayOf({ host, namespace, model, tag }: NameParts): string {
  const short = `${model}:${tag}`
  if (host.toLowerCase() !== DEFAULT_HOST) return `${host}/${namespace}/${short}`
  return namespace.toLowerCase() === DEFAULT_NAMESPACE ? short : `${namespace}/${short}`
}

/** Names come from anyone; an error does not repeat a page of one. */
function shorten(text: string): string {
  return text.length <= 120 ? text : `${text.slice(0, 120)}…`
}
