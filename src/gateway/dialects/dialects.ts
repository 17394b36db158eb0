// Which dialect is spoken on which route.

import { anthropic } from './anthropic.ts'
import type { Dialect } from './dialect.ts'
import { ollama } from './ollama.ts'
import { openaiAudio } from './openai-audio.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiCompletions } from './openai-completions.ts'
import { openaiEmbeddings } from './openai-embeddings.ts'
import { openaiResponses } from './openai-responses.ts'

/** Every inference route, without a query string. */
export const INFERENCE_ROUTES: ReadonlyMap<string, Dialect> = new Map([
  ['/api/generate', ollama],
  ['/api/chat', ollama],
  ['/api/embed', ollama],
  ['/api/embeddings', ollama],
  ['/v1/chat/completions', openaiChat],
  ['/v1/completions', openaiCompletions],
  ['/v1/embeddings', openaiEmbeddings],
  ['/v1/responses', openaiResponses],
  ['/v1/messages', anthropic],
  ['/v1/audio/transcriptions', openaiAudio],
])

/** undefined where the path is no inference route. */
export function dialectFor(path: string): Dialect | undefined {
  return INFERENCE_ROUTES.get(path)
}
