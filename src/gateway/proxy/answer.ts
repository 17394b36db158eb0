// Whole answers that the gateway gives itself: short bodies with an exact length. Answers that
// come from a worker are the relay's.

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ErrorForm } from '../dialects/dialect.ts'
import type { GatewayError } from '../errors.ts'
import type { RequestContext } from './request-context.ts'

export interface Answer {
  status: number
  headers: OutgoingHttpHeaders
  body: Buffer | string
}

/** An unread body up to this size is read and dropped, so that the connection stays usable. */
const DROP_BYTES = 1024 * 1024
/** How long a client with a larger one may go on sending before the connection is closed. */
const LINGER_MS = 5_000
/** How much of it is read meanwhile. */
const LINGER_BYTES = 256 * 1024 * 1024

/**
 * Sends a whole answer. Where the client is still sending a large body, the answer goes out first
 * and the connection is closed only when the client has stopped, or after a bound: closing with
 * unread bytes resets the connection, and the client would never see why it was refused.
 */
export function sendAnswer({ req, res, answerHeaders }: RequestContext, answer: Answer): void {
  const { status, body } = answer
  const headers: OutgoingHttpHeaders = { ...answerHeaders, ...answer.headers }
  if (status !== 204) headers['content-length'] = Buffer.byteLength(body)
  const unread = !req.complete && hasBody(req.headers)
  if (!unread || isSmall(req.headers)) {
    res.writeHead(status, headers).end(body)
    return
  }
  res.writeHead(status, { ...headers, connection: 'close' })
  res.flushHeaders()
  if (req.method !== 'HEAD' && status !== 204) res.write(body)
  endAfterBody(res)
}

/** A failure in the words of its dialect, with Retry-After where waiting can help. */
export function sendFailure(ctx: RequestContext, form: ErrorForm, error: GatewayError): void {
  const headers: OutgoingHttpHeaders = { 'content-type': form.contentType }
  if (error.retryAfterS !== undefined) headers['retry-after'] = String(error.retryAfterS)
  if (error.status === 401) headers['www-authenticate'] = 'Bearer'
  if (error.fault.code === 'credits_spent') headers['x-should-retry'] = 'false'
  sendAnswer(ctx, { status: error.status, headers, body: form.body(error, ctx.id) })
}

type Headers = RequestContext['req']['headers']

function hasBody(headers: Headers): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0
}

/** A client that waits for 100 Continue sends nothing once it has its refusal. */
function isSmall(headers: Headers): boolean {
  return Number(headers['content-length']) <= DROP_BYTES && headers.expect === undefined
}

function endAfterBody(res: ServerResponse): void {
  const { req } = res
  let dropped = 0
  const timer = setTimeout(end, LINGER_MS)
  timer.unref()
  function end(): void {
    clearTimeout(timer)
    req.off('data', onData).off('end', end).off('close', end)
    res.end()
  }
  function onData(chunk: Buffer): void {
    dropped += chunk.length
    if (dropped > LINGER_BYTES) end()
  }
  req.on('data', onData).once('end', end).once('close', end)
}
