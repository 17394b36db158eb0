// Which route a request line means. Pure: a table, and the hints for base URLs that are set wrong.
//
// Matching is on the path alone. Slashes are collapsed instead of redirected, because a client
// that follows a redirect loses the body of its POST (ollama-api.md T53).

import type { Dialect } from '../dialects/dialect.ts'
import { INFERENCE_ROUTES } from '../dialects/dialects.ts'

export type DiscoveryRoute =
  | 'root'
  | 'hello'
  | 'version'
  | 'status'
  | 'tags'
  | 'ps'
  | 'models'
  | 'recommendations'

export type ManagementRoute = 'pull' | 'push' | 'create' | 'copy' | 'delete' | 'blobs'

export type Route =
  | { kind: 'inference'; dialect: Dialect; path: string }
  | { kind: 'discovery'; name: DiscoveryRoute }
  /** The id as the client spelled it, decoded. */
  | { kind: 'model'; id: string }
  | { kind: 'show' }
  | { kind: 'count_tokens' }
  | { kind: 'management'; name: ManagementRoute }
  /** A worker's account at ollama.com: `use` calls out with it, `show` only asks who it is. */
  | { kind: 'account'; asks: 'use' | 'show' }

export type Match =
  | { found: 'route'; route: Route }
  /** The path exists. `allow` is the value of the Allow header. */
  | { found: 'other_method'; allow: string }
  /** `meant` is the path that the client seems to have had in mind. */
  | { found: 'nothing'; meant: string | undefined }

/** The parts of a request target. */
export interface Target {
  path: string
  query: string
  pathKey: string | undefined
}

const account: Route = { kind: 'account', asks: 'use' }
const discovery = (name: DiscoveryRoute): Route => ({ kind: 'discovery', name })
const management = (name: ManagementRoute): Route => ({ kind: 'management', name })

type Methods = ReadonlyMap<string, Route>

/** Methods stand in the order in which Ollama lists them in Allow. */
const readable = (route: Route): Methods => both('HEAD', 'GET', route)
const only = (method: string, route: Route): Methods => new Map([[method, route]])
const both = (first: string, second: string, route: Route): Methods =>
  new Map([
    [first, route],
    [second, route],
  ])

const PATHS: ReadonlyMap<string, Methods> = new Map<string, Methods>([
  ...inferencePaths(),
  ['/', readable(discovery('root'))],
  ['/api/hello', only('HEAD', discovery('hello'))],
  ['/api/version', readable(discovery('version'))],
  ['/api/status', only('GET', discovery('status'))],
  ['/api/tags', readable(discovery('tags'))],
  ['/api/ps', only('GET', discovery('ps'))],
  ['/api/show', only('POST', { kind: 'show' })],
  ['/v1/messages/count_tokens', only('POST', { kind: 'count_tokens' })],
  ['/v1/models', only('GET', discovery('models'))],
  ['/api/pull', only('POST', management('pull'))],
  ['/api/push', only('POST', management('push'))],
  ['/api/create', only('POST', management('create'))],
  ['/api/copy', only('POST', management('copy'))],
  ['/api/delete', only('DELETE', management('delete'))],
  ['/api/me', only('POST', { kind: 'account', asks: 'show' })],
  ['/api/signout', only('POST', account)],
  ['/api/experimental/web_search', only('POST', account)],
  ['/api/experimental/web_fetch', only('POST', account)],
  ['/api/experimental/model-recommendations', only('GET', discovery('recommendations'))],
])

function inferencePaths(): [string, Methods][] {
  return [...INFERENCE_ROUTES].map(([path, dialect]) => [
    path,
    only('POST', { kind: 'inference', dialect, path }),
  ])
}

const MODEL_PREFIX = '/v1/models/'
const BLOB_PREFIX = '/api/blobs/'
const USER_KEY_PREFIX = '/api/user/keys/'

/** Splits a request target, in origin form or in the absolute form that proxies are sent. */
export function readTarget(target: string): Target {
  const origin = target.startsWith('/')
    ? target
    : target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  const question = origin.indexOf('?')
  const rawPath = question === -1 ? origin : origin.slice(0, question)
  const query = question === -1 ? '' : origin.slice(question + 1)
  const path = collapse(rawPath)
  if (!path.startsWith('/k/')) return { path, query, pathKey: undefined }

  const end = path.indexOf('/', 3)
  const key = end === -1 ? path.slice(3) : path.slice(3, end)
  return { path: end === -1 ? '/' : path.slice(end), query, pathKey: decoded(key) ?? key }
}

/** The route of a method and of a path as readTarget gives it. */
export function findRoute(method: string, path: string): Match {
  const methods = methodsOf(path)
  if (methods === undefined) return { found: 'nothing', meant: meantPath(path) }
  const route = methods.get(method)
  if (route !== undefined) return { found: 'route', route }
  return { found: 'other_method', allow: [...methods.keys()].join(', ') }
}

function methodsOf(path: string): Methods | undefined {
  const exact = PATHS.get(path)
  if (exact !== undefined) return exact
  if (path.startsWith(MODEL_PREFIX)) {
    const id = decoded(path.slice(MODEL_PREFIX.length))
    return id === undefined ? undefined : only('GET', { kind: 'model', id })
  }
  if (isOneSegment(path, BLOB_PREFIX)) {
    return both('HEAD', 'POST', management('blobs'))
  }
  return isOneSegment(path, USER_KEY_PREFIX) ? only('DELETE', account) : undefined
}

/** Base URLs with one prefix too many or too few (`/v1/v1/…`, `/v1/api/…`, `/chat/completions`). */
function meantPath(path: string): string | undefined {
  const cut = /^\/(?:v1|api)(\/.*)$/.exec(path)?.[1]
  const candidates = cut === undefined ? [`/v1${path}`, `/api${path}`] : [cut]
  return candidates.find((candidate) => methodsOf(candidate) !== undefined)
}

function collapse(path: string): string {
  const single = path.includes('//') ? path.replaceAll(/\/{2,}/g, '/') : path
  const trimmed = single.length > 1 && single.endsWith('/') ? single.slice(0, -1) : single
  return trimmed === '' ? '/' : trimmed
}

function isOneSegment(path: string, prefix: string): boolean {
  return path.startsWith(prefix) && !path.includes('/', prefix.length)
}

/** Undefined where a percent sign begins no escape. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // a URIError is all that decoding can throw
  }
}
