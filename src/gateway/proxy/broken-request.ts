// Bytes from a client that are no HTTP request: they have no context and no route, but their
// sender still gets an answer it can read.

import type { Duplex } from 'node:stream'

interface Refusal {
  status: string
  detail: string
}

/** How long the sender may take to read its answer and hang up. */
const CLOSE_MS = 2_000

/** Listener for the server's 'clientError'. */
export function answerBrokenRequest(error: Error, socket: Duplex): void {
  // An answer that has begun on this connection must not be mixed with another one.
  if (!socket.writable || answerHasBegun(socket)) {
    socket.destroy()
    return
  }
  refuse(socket, refusalFor(error))
}

/** Listener for 'connect': a client that takes the gateway for its proxy. Node would just hang up. */
export function refuseTunnel(_req: unknown, socket: Duplex): void {
  // Node has let go of the socket: its errors are nobody else's.
  socket.on('error', () => socket.destroy())
  const detail = 'this is a gateway for models, not a proxy for other hosts'
  refuse(socket, { status: '405 Method Not Allowed', detail })
}

function refuse(socket: Duplex, { status, detail }: Refusal): void {
  const body = JSON.stringify({ error: detail })
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Bytes left unread at close would reset the connection and take the answer with them.
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), CLOSE_MS)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
}

function refusalFor(error: Error): Refusal {
  switch ('code' in error ? error.code : undefined) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: '431 Request Header Fields Too Large',
        detail: 'the head of the request is larger than 64 KiB',
      }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        status: '408 Request Timeout',
        detail: 'the head of the request did not arrive in time',
      }
    default:
      return { status: '400 Bad Request', detail: 'this is not a valid HTTP/1.1 request' }
  }
}

/** Node keeps the running answer of a connection here; its documentation of clientError says so. */
function answerHasBegun(socket: Duplex): boolean {
  const message: unknown = '_httpMessage' in socket ? socket._httpMessage : undefined
  if (typeof message !== 'object' || message === null) return false
  return !('headersSent' in message) || message.headersSent !== false
}
