// A short answer that is not streamed, or tells its length, is held until it is whole, so that one
// that was cut can still be told as an error.

import type { OutgoingHttpHeaders } from 'node:http'
import type { ModelRewriter } from '../dialects/model-rewriter.ts'
import type { ClientStream } from './client-stream.ts'

/** Beyond it an answer is passed on as it comes. */
export const HOLD_BYTES = 256 * 1024

export interface HeldAnswer {
  status: number
  headers: OutgoingHttpHeaders
  chunks: readonly Buffer[]
  /** It is a stream without its end: the error is to be written behind it. */
  leavesRoom: boolean
}

/** Writes all of it at once. */
export function answerHeld(
  client: ClientStream,
  { status, headers, chunks, leavesRoom }: HeldAnswer,
  rewrite: ModelRewriter | undefined,
): void {
  const pieces =
    rewrite === undefined ? chunks : [...chunks, undefined].flatMap((held) => rewrite(held))
  const [only] = pieces
  const body = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
  if (leavesRoom) {
    client.startStream(status, headers)
    client.write(body)
  } else client.answer(status, headers, body)
}

/** Whether these are one JSON document from its beginning to its end. */
export function isDocument(parts: readonly Buffer[]): boolean {
  const text = Buffer.concat(parts).toString('utf8')
  if (!text.startsWith('{') || !text.trimEnd().endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false // the end of a part of it looked like its own
  }
}
