// Which web pages may use the gateway. Pure: it judges the Host and Origin of a request by Ollama's
// own rules and says which CORS headers its answer gets.
//
// A page on the internet can make a browser send requests to a loopback address, by naming it or
// by letting its own name resolve to it (DNS rebinding). Where no key is needed, the Host header
// is the only thing that tells those requests from a person's own.

import { BlockList, isIP, isIPv6 } from 'node:net'

/** What the guard is configured with. Made again at each reload. */
export interface GuardRules {
  /** True for an open listener on a loopback address; others are guarded by keys or by choice. */
  checkHost: boolean
  /** Lower case, with or without port. */
  allowedHosts: ReadonlySet<string>
  /** This machine's own name, lower case. */
  hostname: string
  /** True for an IP that this machine has now: it may be known by more than loopback. */
  isOwnAddress(ip: string): boolean
  origins: OriginRules
}

export interface OriginRules {
  exact: ReadonlySet<string>
  patterns: readonly RegExp[]
}

export type GuardVerdict =
  /** `origin` is a foreign one that is allowed: the answer carries it. */
  { allowed: true; origin: string | undefined } | { allowed: false; because: 'host' | 'origin' }

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '0.0.0.0']

/** Ollama's defaults: pages on this machine, and apps whose pages are local files. */
const DEFAULT_ORIGINS = [
  ...LOOPBACK_NAMES.flatMap((name) =>
    ['http', 'https'].flatMap((scheme) => [`${scheme}://${name}`, `${scheme}://${name}:*`]),
  ),
  'app://*',
  'file://*',
  'tauri://*',
  'vscode-webview://*',
  'vscode-file://*',
]

/** Ollama's defaults and `cors.origins`, in which `*` stands for any text. */
export function compileOrigins(configured: readonly string[]): OriginRules {
  const all = [...DEFAULT_ORIGINS, ...configured.map((origin) => origin.toLowerCase())]
  return {
    exact: new Set(all.filter((origin) => !origin.includes('*'))),
    patterns: all.filter((origin) => origin.includes('*')).map(patternOf),
  }
}

function patternOf(origin: string): RegExp {
  return new RegExp(`^${origin.split('*').map(escaped).join('.*')}$`)
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

/** Judges one request by the values of its Host and Origin headers. */
export function guardRequest(
  rules: GuardRules,
  host: string | undefined,
  origin: string | undefined,
): GuardVerdict {
  const foreign = foreignOrigin(host ?? '', origin ?? '')
  if (foreign !== undefined && !originAllowed(rules.origins, foreign)) {
    return { allowed: false, because: 'origin' }
  }
  if (rules.checkHost && !hostAllowed(rules, (host ?? '').toLowerCase())) {
    return { allowed: false, because: 'host' }
  }
  return { allowed: true, origin: foreign }
}

/** A page that the gateway's own address served is no other origin. */
function foreignOrigin(host: string, origin: string): string | undefined {
  const own = origin === '' || origin === `http://${host}` || origin === `https://${host}`
  return own ? undefined : origin
}

function originAllowed({ exact, patterns }: OriginRules, origin: string): boolean {
  const lower = origin.toLowerCase()
  return exact.has(lower) || patterns.some((pattern) => pattern.test(lower))
}

const PRIVATE = new BlockList()
PRIVATE.addSubnet('127.0.0.0', 8)
PRIVATE.addSubnet('10.0.0.0', 8)
PRIVATE.addSubnet('172.16.0.0', 12)
PRIVATE.addSubnet('192.168.0.0', 16)
PRIVATE.addAddress('0.0.0.0')
PRIVATE.addAddress('::1', 'ipv6')
PRIVATE.addAddress('::', 'ipv6')
PRIVATE.addSubnet('fc00::', 7, 'ipv6')

const LOCAL_SUFFIXES = ['.localhost', '.local', '.internal']

/** What nearly every client sends; the rest of the rules take a hundred times longer. */
const PLAIN_LOOPBACK = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/

function hostAllowed(rules: GuardRules, host: string): boolean {
  if (PLAIN_LOOPBACK.test(host)) return true
  const name = withoutPort(host)
  if (rules.allowedHosts.has(host) || rules.allowedHosts.has(name)) return true
  if (isIP(name) !== 0) {
    return PRIVATE.check(name, isIPv6(name) ? 'ipv6' : 'ipv4') || rules.isOwnAddress(name)
  }
  if (name === '' || name === 'localhost' || name === rules.hostname) return true
  return LOCAL_SUFFIXES.some((suffix) => name.endsWith(suffix))
}

/** `[::1]:11435` → `::1`, `localhost:11435` → `localhost`; a bare IPv6 address stays whole. */
function withoutPort(host: string): string {
  const { six, name } = /^(?:\[(?<six>[^\]]*)\]|(?<name>[^:]*))(?::\d*)?$/.exec(host)?.groups ?? {}
  return six ?? name ?? host
}

/** CORS headers of an ordinary answer, errors and streams included. */
export function originHeaders(origin: string): Readonly<Record<string, string>> {
  return { 'access-control-allow-origin': origin, vary: 'Origin' }
}

const METHODS = 'GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS'
/** Sent where a preflight names no headers. */
const DEFAULT_HEADERS = 'Authorization,Content-Type,User-Agent,Accept,X-Requested-With'

/**
 * Answers a preflight. The headers a page asks for are echoed: a real Ollama's fixed list lacks
 * those of the Anthropic SDK, and the gateway never forwards what it does not know.
 */
export function preflightHeaders(
  origin: string,
  requested: string | undefined,
): Readonly<Record<string, string>> {
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': requested ?? DEFAULT_HEADERS,
    'access-control-max-age': '43200',
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
  }
}
