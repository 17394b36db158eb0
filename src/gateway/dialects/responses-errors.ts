// The Responses dialect: OpenAI's errors before the first byte, and after it a last event of its
// own, which Codex needs in order not to report a stream that was merely closed.

import type { GatewayError } from '../errors.ts'
import type { ErrorForm } from './dialect.ts'
import { closeSseFrame } from './frames.ts'
import { openaiCode, openaiErrors } from './openai-errors.ts'

export const responsesErrors: ErrorForm = {
  contentType: openaiErrors.contentType,
  body: (error, requestId) => openaiErrors.body(error, requestId),
  streamTail: (error, requestId, sent) =>
    `${closeSseFrame(sent)}event: response.failed\ndata: ${failedEvent(error, requestId, sent)}\n\n`,
}

const SEQUENCE_NUMBER = /"sequence_number":(\d+)[,}]/g
const RESPONSE_ID = /"id":"(resp_[^"\\]*)"/
const CREATED_AT = /"created_at":(\d+)/

/** Keys in alphabetical order, as Ollama writes them. */
function failedEvent(error: GatewayError, requestId: string, sent: Buffer | undefined): string {
  const before = sent?.toString('utf8') ?? ''
  const last = [...before.matchAll(SEQUENCE_NUMBER)].at(-1)?.[1]
  return JSON.stringify({
    response: {
      background: false,
      created_at: Number(CREATED_AT.exec(before)?.[1] ?? 0),
      error: { code: failedCode(error), message: error.message },
      id: RESPONSE_ID.exec(before)?.[1] ?? `resp_${requestId}`,
      incomplete_details: null,
      instructions: null,
      metadata: {},
      object: 'response',
      output: [],
      status: 'failed',
      usage: null,
    },
    sequence_number: last === undefined ? 0 : Number(last) + 1,
    type: 'response.failed',
  })
}

/** In a failed response OpenAI has one code for all that is not the client's doing. */
function failedCode(error: GatewayError): string {
  if (error.status >= 500) return 'server_error'
  return openaiCode(error) ?? 'invalid_prompt'
}
