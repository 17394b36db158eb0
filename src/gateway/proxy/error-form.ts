// How a failure is worded for whoever sent a request, also where its path is no inference route.

import type { IncomingHttpHeaders } from 'node:http'
import { anthropicErrors } from '../dialects/anthropic-errors.ts'
import type { ErrorForm } from '../dialects/dialect.ts'
import { dialectFor } from '../dialects/dialects.ts'
import { ollamaErrors } from '../dialects/ollama-errors.ts'
import { openaiErrors } from '../dialects/openai-errors.ts'

/** `/v1/models` is one path for two protocols; Anthropic's clients always name their version. */
export function errorFormFor(path: string, headers: IncomingHttpHeaders): ErrorForm {
  const dialect = dialectFor(path)
  if (dialect !== undefined) return dialect.errors
  if (!path.startsWith('/v1/')) return ollamaErrors
  const isAnthropic = path.startsWith('/v1/messages') || headers['anthropic-version'] !== undefined
  return isAnthropic ? anthropicErrors : openaiErrors
}
