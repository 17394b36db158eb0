// The one field without which the gateway cannot go on, and how Ollama words that it is missing.
// Everything else that is wrong with a body is left to the worker to word.

import { GatewayError } from '../errors.ts'
import type { Fields } from './json-fields.ts'

/** Ollama's Go type for a route, which its error texts name. */
const GO_TYPE: Readonly<Record<string, string>> = {
  '/api/generate': 'api.GenerateRequest',
  '/api/chat': 'api.ChatRequest',
  '/api/embed': 'api.EmbedRequest',
  '/api/embeddings': 'api.EmbeddingRequest',
  '/v1/chat/completions': 'openai.ChatCompletionRequest',
  '/v1/completions': 'openai.CompletionRequest',
  '/v1/embeddings': 'openai.EmbedRequest',
  '/v1/responses': 'openai.ResponsesRequest',
  '/v1/messages': 'anthropic.MessagesRequest',
  '/v1/messages/count_tokens': 'anthropic.MessagesRequest',
  '/api/show': 'api.ShowRequest',
  '/api/pull': 'api.PullRequest',
  '/api/push': 'api.PushRequest',
  '/api/create': 'api.CreateRequest',
  '/api/copy': 'api.CopyRequest',
  '/api/delete': 'api.DeleteRequest',
}

/** Routes that look the empty name up, and so miss it with 404 instead of 400. */
const LOOKS_UP_EMPTY = new Set(['/api/generate', '/api/embed', '/v1/completions', '/v1/embeddings'])

/** The model as the client spelled it. Throws what Ollama answers where there is none. */
export function requestModel(fields: Fields, path: string): string {
  const model = fields.get('model') ?? ''
  if (typeof model !== 'string') {
    const type = goTypeOf(path)
    const name = type.slice(type.indexOf('.') + 1)
    throw invalid(
      `json: cannot unmarshal ${jsonTypeOf(model)} into Go struct field ${name}.model of type string`,
    )
  }
  if (model.trim() !== '') return model
  if (LOOKS_UP_EMPTY.has(path)) {
    throw new GatewayError({ code: 'not_found', detail: "model '' not found" })
  }
  throw invalid('model is required')
}

/** What Ollama says to JSON that is no object. `null` is one to Go, and lacks the model. */
export function noObjectBody(
  type: 'array' | 'string' | 'number' | 'bool' | 'null',
  path: string,
): GatewayError {
  return type === 'null'
    ? invalid('model is required')
    : invalid(`json: cannot unmarshal ${type} into Go value of type ${goTypeOf(path)}`)
}

/** What Ollama says to no body at all: its middlewares and its native handlers differ. */
export function emptyBody(path: string): GatewayError {
  return invalid(path.startsWith('/v1/') ? 'EOF' : 'missing request body')
}

function goTypeOf(path: string): string {
  return GO_TYPE[path] ?? 'api.ChatRequest'
}

function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

function invalid(detail: string): GatewayError {
  return new GatewayError({ code: 'invalid_request', detail })
}
