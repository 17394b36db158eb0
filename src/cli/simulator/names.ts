// Model names as Ollama 0.33 reads them: `[scheme://][host/][namespace/]model[:tag]`.

const DEFAULTS = { host: 'registry.ollama.ai', namespace: 'library', tag: 'latest' } as const

export interface ModelName {
  host: string
  namespace: string
  model: string
  tag: string
}

export type Source = 'none' | 'cloud' | 'local'

export type SourceSplit = { name: string; source: Source } | { conflict: string }

const RULES: Readonly<Record<keyof ModelName, RegExp>> = {
  host: /^[\w][\w.:-]{0,349}$/u,
  namespace: /^[\w][\w-]{0,79}$/u,
  model: /^[\w][\w.-]{0,79}$/u,
  tag: /^[\w][\w.-]{0,79}$/u,
}

/** Undefined where Ollama says `invalid model name`. */
export function parseName(raw: string): ModelName | undefined {
  let rest = raw.trim()
  const scheme = rest.indexOf('://')
  if (scheme >= 0) rest = rest.slice(scheme + 3)
  const colon = rest.lastIndexOf(':')
  let tag: string = DEFAULTS.tag
  if (colon > rest.lastIndexOf('/')) {
    tag = rest.slice(colon + 1)
    rest = rest.slice(0, colon)
  }
  const parts = rest.split('/')
  if (parts.length > 3) return undefined
  const name: ModelName = {
    host: parts.length === 3 ? (parts[0] ?? '') : DEFAULTS.host,
    namespace: parts.length >= 2 ? (parts.at(-2) ?? '') : DEFAULTS.namespace,
    model: parts.at(-1) ?? '',
    tag,
  }
  return isValid(name) ? name : undefined
}

function isValid(name: ModelName): boolean {
  return (
    RULES.host.test(name.host) &&
    RULES.namespace.test(name.namespace) &&
    RULES.model.test(name.model) &&
    RULES.tag.test(name.tag)
  )
}

/** `gpt-oss:120b-cloud`, `kimi-k2:cloud` and `x:local` say where the model runs. */
export function splitSource(raw: string): SourceSplit {
  const [name, source] = stripSource(raw.trim())
  if (source === 'none') return { name, source }
  const [, again] = stripSource(name)
  if (again !== 'none') return { conflict: `use either :local or :cloud, not both: "${raw}"` }
  return { name, source }
}

function stripSource(raw: string): [string, Source] {
  const colon = raw.lastIndexOf(':')
  if (colon < 0) return [raw, 'none']
  const last = raw.slice(colon + 1).toLowerCase()
  if (last === 'cloud' || last === 'local') return [raw.slice(0, colon), last]
  if (!last.includes('/') && last.endsWith('-cloud'))
    return [raw.slice(0, -'-cloud'.length), 'cloud']
  return [raw, 'none']
}

/** `registry.ollama.ai/library/qwen3:8b` */
export const fullName = (name: ModelName): string =>
  `${name.host}/${name.namespace}/${name.model}:${name.tag}`

/** Equal for spellings that a worker takes for the same model. */
export const keyOf = (name: ModelName): string => fullName(name).toLowerCase()

/** The shortest form, always with its tag, as tags, ps and show write it. */
export function displayName(name: ModelName): string {
  const model = `${name.model}:${name.tag}`
  if (name.host.toLowerCase() !== DEFAULTS.host) return `${name.host}/${name.namespace}/${model}`
  if (name.namespace.toLowerCase() !== DEFAULTS.namespace) return `${name.namespace}/${model}`
  return model
}
