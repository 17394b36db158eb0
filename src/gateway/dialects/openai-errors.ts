// OpenAI's errors. The codes are those that SDKs and agents act on; where OpenAI has none, the
// gateway's own code stands, so that a script can tell the cases apart.

import type { FaultCode, GatewayError } from '../errors.ts'
import type { ErrorForm } from './dialect.ts'
import { closeSseFrame } from './frames.ts'

export const openaiErrors: ErrorForm = {
  contentType: 'application/json',
  body: (error) => JSON.stringify({ error: detailOf(error) }),
  // No [DONE] follows: a client that saw one would take the answer for whole.
  streamTail: (error, _requestId, sent) =>
    `${closeSseFrame(sent)}data: ${JSON.stringify({ error: detailOf(error) })}\n\n`,
}

/** Codes that OpenAI's clients know; null as in Ollama's own plain refusals. */
const CODE: Readonly<Partial<Record<FaultCode, string | null>>> = {
  context_too_long: 'context_length_exceeded',
  model_not_installed: 'model_not_found',
  unauthorized: 'invalid_api_key',
  credits_spent: 'insufficient_quota',
  invalid_request: null,
  not_found: null,
}

export function openaiCode({ fault }: GatewayError): string | null {
  const known = CODE[fault.code]
  return known === undefined ? fault.code : known
}

function detailOf(error: GatewayError) {
  return {
    message: error.message,
    type: typeOf(error.status),
    param: null,
    code: openaiCode(error),
  }
}

const TYPE: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'insufficient_quota',
}

function typeOf(status: number): string {
  return TYPE[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error')
}
