// Anthropic's errors. Its own status for overloaded_error is 529; clients act on the type and on
// any status from 500 alike.

import type { GatewayError } from '../errors.ts'
import type { ErrorForm } from './dialect.ts'
import { closeSseFrame } from './frames.ts'

export const anthropicErrors: ErrorForm = {
  contentType: 'application/json',
  body: (error, requestId) => JSON.stringify(detailOf(error, requestId)),
  streamTail: (error, requestId, sent) =>
    `${closeSseFrame(sent)}event: error\ndata: ${JSON.stringify(detailOf(error, requestId))}\n\n`,
}

function detailOf(error: GatewayError, requestId: string) {
  const type = TYPE[error.status] ?? (error.status < 500 ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message: error.message }, request_id: requestId }
}

const TYPE: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}
