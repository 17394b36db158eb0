// The native dialect's errors: one string, before and after the first byte.

import type { ErrorForm } from './dialect.ts'
import { closeNdjsonLine } from './frames.ts'

export const ollamaErrors: ErrorForm = {
  contentType: 'application/json; charset=utf-8',
  body: (error) => JSON.stringify({ error: error.message }),
  streamTail: (error, _requestId, sent) =>
    `${closeNdjsonLine(sent)}${JSON.stringify({ error: error.message })}\n`,
}
