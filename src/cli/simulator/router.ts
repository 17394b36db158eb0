// Which route a request is for, as gin decides: exact paths, parameters, a method
// that is not allowed, a slash too many.

import type { Features } from './versions.ts'
import { VERSIONED_PATHS } from './versions.ts'
import type { Exchange } from './sim.ts'
import {
  imagesRoute,
  meRoute,
  recommendationsRoute,
  transcriptionRoute,
  webFetchRoute,
  webSearchRoute,
} from './routes/account.ts'
import { messagesRoute } from './routes/anthropic.ts'
import { embedRoute, legacyEmbeddingsRoute, openaiEmbeddingsRoute } from './routes/embed.ts'
import * as inventory from './routes/inventory.ts'
import * as management from './routes/management.ts'
import { chatRoute, generateRoute } from './routes/native.ts'
import { openaiChatRoute, openaiCompletionRoute } from './routes/openai.ts'
import { responsesRoute } from './routes/responses.ts'

export type Handler = (exchange: Exchange) => Promise<void>

interface Route {
  path: string
  methods: Readonly<Record<string, Handler>>
  /** Runs a model, so it counts as load. */
  inference?: boolean
}

const get = (handler: Handler) => ({ GET: handler })
const post = (handler: Handler) => ({ POST: handler })
const readable = (handler: Handler) => ({ HEAD: handler, GET: handler })
const run = (path: string, handler: Handler): Route => ({
  path,
  methods: post(handler),
  inference: true,
})

const ROUTES: readonly Route[] = [
  { path: '/', methods: readable(inventory.rootRoute) },
  { path: '/api/version', methods: readable(inventory.versionRoute) },
  { path: '/api/status', methods: get(inventory.statusRoute) },
  { path: '/api/tags', methods: readable(inventory.tagsRoute) },
  { path: '/api/ps', methods: get(inventory.psRoute) },
  { path: '/api/show', methods: post(inventory.showRoute) },
  run('/api/chat', chatRoute),
  run('/api/generate', generateRoute),
  run('/api/embed', embedRoute),
  run('/api/embeddings', legacyEmbeddingsRoute),
  run('/v1/chat/completions', openaiChatRoute),
  run('/v1/completions', openaiCompletionRoute),
  run('/v1/embeddings', openaiEmbeddingsRoute),
  run('/v1/responses', responsesRoute),
  run('/v1/messages', messagesRoute),
  run('/v1/audio/transcriptions', transcriptionRoute),
  run('/v1/images/generations', imagesRoute),
  run('/v1/images/edits', imagesRoute),
  { path: '/v1/models', methods: get(inventory.openaiModelsRoute) },
  { path: '/v1/models/:model', methods: get(inventory.openaiModelRoute) },
  { path: '/api/pull', methods: post(management.pullRoute) },
  { path: '/api/push', methods: post(management.pushRoute) },
  { path: '/api/create', methods: post(management.createRoute) },
  { path: '/api/copy', methods: post(management.copyRoute) },
  { path: '/api/delete', methods: { DELETE: management.deleteRoute } },
  {
    path: '/api/blobs/:digest',
    methods: { HEAD: management.blobRoute, POST: management.blobRoute },
  },
  { path: '/api/me', methods: post(meRoute) },
  { path: '/api/signout', methods: post(meRoute) },
  { path: '/api/user/keys/:key', methods: { DELETE: meRoute } },
  { path: '/api/experimental/web_search', methods: post(webSearchRoute) },
  { path: '/api/experimental/web_fetch', methods: post(webFetchRoute) },
  { path: '/api/experimental/model-recommendations', methods: get(recommendationsRoute) },
]

/** gin asks its method trees in this order, and `Allow` shows it. */
const METHOD_ORDER = ['HEAD', 'GET', 'POST', 'DELETE']

export type Match =
  | {
      kind: 'route'
      handler: Handler
      params: Readonly<Record<string, string>>
      inference: boolean
    }
  | { kind: 'wrong-method'; allow: string }
  | { kind: 'redirect'; status: 301 | 307; to: string }
  | { kind: 'unknown' }

/** `path` without its query. */
export function match(features: Features, method: string, path: string): Match {
  // Go's mux cleans such a path before gin sees it.
  const clean = path.replaceAll(/\/{2,}/gu, '/')
  if (clean !== path) return { kind: 'redirect', status: 307, to: clean }
  const found = find(features, path)
  if (found === undefined) return slashless(features, method, path)
  const handler = found.route.methods[method]
  if (handler !== undefined) {
    return {
      kind: 'route',
      handler,
      params: found.params,
      inference: found.route.inference === true,
    }
  }
  if (!features.methodNotAllowed) return { kind: 'unknown' }
  const allow = METHOD_ORDER.filter((name) => name in found.route.methods).join(', ')
  return { kind: 'wrong-method', allow }
}

function slashless(features: Features, method: string, path: string): Match {
  const to = path.slice(0, -1)
  if (!path.endsWith('/') || find(features, to)?.route.methods[method] === undefined) {
    return { kind: 'unknown' }
  }
  return { kind: 'redirect', status: method === 'GET' ? 301 : 307, to }
}

function find(
  features: Features,
  path: string,
): { route: Route; params: Record<string, string> } | undefined {
  for (const route of ROUTES) {
    if (VERSIONED_PATHS.has(route.path) && !features.routes.has(route.path)) continue
    const params = paramsOf(route.path, path)
    if (params !== undefined) return { route, params }
  }
  return undefined
}

/** gin matches on the decoded path, so an encoded slash is a slash. */
function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  if (!pattern.includes(':')) return pattern === path ? {} : undefined
  const wanted = pattern.split('/')
  const given = decoded(path).split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? ''
    if (part.startsWith(':') && value !== '') params[part.slice(1)] = value
    else if (part !== value) return undefined
  }
  return params
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    // A broken escape stays as it is and finds no route.
    return path
  }
}
