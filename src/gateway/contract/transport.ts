// How the client reaches a gateway: over one of several unix sockets, or over the stdio of a
// process such as `ssh host ogw admin-proxy`.

import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import { Agent, request } from '../node-http.ts'
import { AdminError } from './faults.ts'

export interface Sent {
  request: ClientRequest
  answer: IncomingMessage
}

export interface Transport {
  /** Sends one request; settles with its head. Rejects with AdminError not_running. */
  send(options: RequestOptions, body: string | undefined): Promise<Sent>
  /** Ends idle connections; a process with none left may exit. */
  close(): void
}

/** The sockets are tried in order; the first that takes a connection is kept. */
export function socketTransport(paths: readonly string[]): Transport {
  let chosen: string | undefined
  return {
    async send(options, body) {
      const tried: Attempt[] = []
      for (const socketPath of chosen === undefined ? paths : [chosen]) {
        try {
          const sent = await sendOnce({ ...options, agent: false, socketPath }, body)
          chosen = socketPath
          return sent
        } catch (error) {
          if (!isConnectError(error)) throw broken(error)
          tried.push({ place: socketPath, why: reasonOf(error), code: codeOf(error) })
        }
      }
      throw notRunning(tried)
    },
    close() {},
  }
}

/** `open` makes one connection; it is used again for later requests, as ssh is slow to start. */
export function streamTransport(place: string, open: () => Duplex): Transport {
  const agent = new Agent({ keepAlive: true, maxSockets: 8, maxFreeSockets: 1 })
  agent.createConnection = () => asSocket(open())
  return {
    async send(options, body) {
      try {
        return await sendOnce({ ...options, agent }, body)
      } catch (error) {
        throw notRunning([{ place, why: reasonOf(error), code: codeOf(error) }], error)
      }
    },
    close: () => agent.destroy(),
  }
}

function sendOnce(options: RequestOptions, body: string | undefined): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...options, setHost: false })
    outgoing.once('response', (answer) => resolve({ request: outgoing, answer }))
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}

interface Attempt {
  place: string
  why: string
  /** Of the system, as in ENOENT; empty where it gave none. */
  code: string
}

/** Said here and nowhere else, so that CLI and TUI say the same. */
function notRunning(tried: readonly Attempt[], cause?: unknown): AdminError {
  const list = tried.map(({ place, why }) => `${place} (${why})`).join(', ')
  const message = `no gateway answers; tried ${list}. Start one with \`ogw serve\`, or name its socket with --socket or OGW_SOCKET`
  return new AdminError({ code: 'not_running', message, details: { tried } }, { cause })
}

function broken(cause: unknown): AdminError {
  const message = `the gateway broke the connection before it answered: ${reasonOf(cause)}`
  return new AdminError({ code: 'disconnected', message }, { cause })
}

const CONNECT_REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such socket',
  ECONNREFUSED: 'nobody listens there any more',
  EACCES: 'permission denied; the socket belongs to another user or group',
  EPERM: 'permission denied',
  ENOTSOCK: 'not a socket',
  ENOTDIR: 'not a folder on the way',
  ENAMETOOLONG: 'the path is too long for a socket',
  EINVAL: 'the path is too long for a socket',
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : ''
}

/** Nothing was sent yet: another socket may be tried, even for a change. */
function isConnectError(error: unknown): boolean {
  return codeOf(error) in CONNECT_REASONS
}

function reasonOf(error: unknown): string {
  const known = CONNECT_REASONS[codeOf(error)]
  if (known !== undefined) return known
  return error instanceof Error ? error.message : String(error)
}

/** The agent calls what only a net.Socket has; on other streams there is nothing to set. */
function asSocket(stream: Duplex): Duplex {
  const nothing = (): Duplex => stream
  return Object.assign(stream, {
    setKeepAlive: nothing,
    setNoDelay: nothing,
    setTimeout: nothing,
    ref: nothing,
    unref: nothing,
  })
}
