// The listener for clients: sockets, their limits, request ids, and the end of it all. What a
// request means is decided elsewhere; here it only gets a context and an owner for its errors.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { NOBODY } from '../access/visitor.ts'
import type { Clock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { listen } from '../listen.ts'
import { createServer } from '../node-http.ts'
import { sendFailure } from './answer.ts'
import { answerBrokenRequest, refuseTunnel } from './broken-request.ts'
import { errorFormFor } from './error-form.ts'
import type { RequestContext } from './request-context.ts'
import { readTarget } from './routes.ts'

export interface ServerDeps {
  clock: Clock
  /** Answers one request. What it throws is a bug, unless it is a GatewayError. */
  handle(ctx: RequestContext): void | Promise<void>
  /** A handler threw: `path` is free of keys and query. */
  onBug(ctx: RequestContext, error: unknown): void
  /** Milliseconds a client has for the head of its request. Default 30000. */
  headTimeoutMs?: number
}

export interface ClientServer {
  listen(address: { host: string; port: number }): Promise<AddressInfo>
  /** True from the beginning of stop(). */
  readonly draining: boolean
  /** Requests whose answer has not ended. */
  readonly inFlight: number
  /**
   * Takes no new connections, lets running requests end for at most `drainMs`, then cuts what is
   * left. Resolves with the number of requests that were cut; called again it only shortens the
   * wait.
   */
  stop(drainMs: number): Promise<number>
}

/** A client has this long for the head of its request; the body has its own timer. */
const HEAD_TIMEOUT_MS = 30_000
/** Heads that are late are looked for so many times within their time. */
const CHECKS_PER_HEAD = 6
/** Longer than what common clients keep idle connections for (Go and reqwest 90 s): no resets. */
const KEEP_ALIVE_MS = 120_000
/** While draining, so often connections without a request are ended, half a head sent or none. */
const SWEEP_MS = 1_000
/** Open WebUI's JWT and cookies fit many times; above it is 431. */
const MAX_HEAD_BYTES = 64 * 1024
/** Finds clients that vanished without a FIN, which would hold a slot for ever. */
const TCP_PROBE_AFTER_MS = 60_000
const MAX_CONNECTIONS = 20_000

const SERVER_OPTIONS = {
  requestTimeout: 0,
  keepAliveTimeout: KEEP_ALIVE_MS,
  maxHeaderSize: MAX_HEAD_BYTES,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: TCP_PROBE_AFTER_MS,
}

export function createClientServer(deps: ServerDeps): ClientServer {
  const headersTimeout = deps.headTimeoutMs ?? HEAD_TIMEOUT_MS
  const connectionsCheckingInterval = headersTimeout / CHECKS_PER_HEAD
  const server = createServer({ ...SERVER_OPTIONS, headersTimeout, connectionsCheckingInterval })
  server.maxConnections = MAX_CONNECTIONS
  const drain = drainOf(server)

  function serve(req: IncomingMessage, res: ServerResponse, expectsContinue: boolean): void {
    const ctx = contextOf(deps.clock, req, res, expectsContinue)
    // An error on a socket is followed by 'close', which is what everyone listens to.
    res.on('error', ignoreSocketError)
    req.on('error', ignoreSocketError)
    if (!drain.admit(res)) {
      const error = new GatewayError({ code: 'shutting_down' })
      sendFailure(ctx, errorFormFor(ctx.path, req.headers), error)
      return
    }
    void supervise(deps, ctx)
  }

  server.on('request', (req, res) => serve(req, res, false))
  server.on('checkContinue', (req, res) => serve(req, res, true))
  server.on('clientError', answerBrokenRequest)
  server.on('connect', refuseTunnel)

  return {
    listen: (address) => listen(server, address),
    get draining() {
      return drain.draining
    },
    get inFlight() {
      return drain.inFlight
    },
    stop: (drainMs) => drain.stop(drainMs),
  }
}

function contextOf(
  clock: Clock,
  req: IncomingMessage,
  res: ServerResponse,
  expectsContinue: boolean,
): RequestContext {
  let waits = expectsContinue
  const id = randomUUID()
  return {
    id,
    answerHeaders: { 'x-request-id': id, 'request-id': id },
    req,
    res,
    ...readTarget(req.url ?? '/'),
    visitor: NOBODY,
    startedAt: clock.mono(),
    acceptBody() {
      if (waits && !res.headersSent) res.writeContinue()
      waits = false
    },
  }
}

/** The last owner of a request's errors: nothing that one request does ends the process. */
async function supervise(deps: ServerDeps, ctx: RequestContext): Promise<void> {
  try {
    await deps.handle(ctx)
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) deps.onBug(ctx, thrown)
    const { req, res } = ctx
    // Too late for a status, and the state of the stream is not known: no clean end.
    if (res.headersSent) res.destroy()
    else {
      const error = thrown instanceof GatewayError ? thrown : internalError(ctx.id, thrown)
      sendFailure(ctx, errorFormFor(ctx.path, req.headers), error)
    }
  }
}

function internalError(requestId: string, cause: unknown): GatewayError {
  return new GatewayError({ code: 'internal', requestId }, { cause })
}

function ignoreSocketError(): void {}

interface Drain {
  readonly draining: boolean
  readonly inFlight: number
  /** False once draining: the request is to be refused. Counts it either way until it ends. */
  admit(res: ServerResponse): boolean
  stop(drainMs: number): Promise<number>
}

function drainOf(server: Server): Drain {
  const running = new Set<ServerResponse>()
  const sockets = new Set<Socket>()
  const closed = Promise.withResolvers<number>()
  let draining = false
  let cut = 0
  let timer: NodeJS.Timeout | undefined
  let sweeper: NodeJS.Timeout | undefined

  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })

  function closeAll(): void {
    cut = running.size
    server.closeAllConnections()
  }
  /** To Node a connection with half a head is not idle, and of a closed server none is late. */
  function sweep(): void {
    const asking = new Set([...running].map(({ req }) => req.socket))
    for (const socket of sockets) if (!asking.has(socket)) socket.destroy()
  }
  function onEnd(res: ServerResponse): void {
    running.delete(res)
    // The connection counts as idle only after this event; a kept-alive one would hold the exit.
    if (draining) setImmediate(() => server.closeIdleConnections())
  }

  return {
    get draining() {
      return draining
    },
    get inFlight() {
      return running.size
    },
    admit(res) {
      running.add(res)
      res.once('close', () => onEnd(res))
      if (draining) res.setHeader('connection', 'close')
      return !draining
    },
    stop(drainMs) {
      clearTimeout(timer)
      timer = setTimeout(closeAll, drainMs)
      if (draining) return closed.promise
      draining = true
      for (const res of running) if (!res.headersSent) res.setHeader('connection', 'close')
      sweeper = setInterval(sweep, SWEEP_MS)
      server.close(() => {
        clearTimeout(timer)
        clearInterval(sweeper)
        closed.resolve(cut)
      })
      return closed.promise
    },
  }
}
