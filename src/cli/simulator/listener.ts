// The socket side of a simulated worker: listening, refusing, silence on accept,
// connections that are cut, and kept-alive ones that are closed while idle.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { FaultBook } from './faults.ts'
import type { Recorder } from './record.ts'

export interface Listener {
  readonly port: number
  connectionOf(req: IncomingMessage): number
  /** Stops or begins to listen, as the faults now say. */
  settle(): void
  /** Resolves when the last `settle` has taken effect. */
  settled(): Promise<void>
  resetAll(): void
  /** Gone for good: nothing listens, every connection is reset. */
  die(): void
  close(): Promise<void>
}

export interface ListenerOptions {
  host: string
  port: number
  faults: () => FaultBook
  record: Recorder
  onConnection: (id: number) => void
  onRequest: (req: IncomingMessage, res: ServerResponse) => void
}

export async function createListener(options: ListenerOptions): Promise<Listener> {
  const { host, record } = options
  const sockets = new Map<Socket, number>()
  let server = makeServer()
  let dead = false
  let change: Promise<void> = Promise.resolve()
  let reopen: NodeJS.Timeout | undefined

  function makeServer(): Server {
    // Go's server has no such limits; Node's would close what a real worker keeps.
    const made = createServer(
      { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 },
      (req, res) => {
        closeWhenIdle(req.socket, res)
        options.onRequest(req, res)
      },
    )
    made.timeout = 0
    made.maxRequestsPerSocket = 0
    made.on('connection', (socket) => accept(socket))
    made.on('clientError', (_, socket) => {
      if (socket.writable)
        socket.end(
          'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request',
        )
    })
    return made
  }

  function accept(socket: Socket): void {
    const id = record.opened()
    sockets.set(socket, id)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      sockets.delete(socket)
      record.closed()
    })
    options.onConnection(id)
    if (options.faults().active('reset')?.on === 'accept') {
      options.faults().take('reset')
      socket.resetAndDestroy()
    }
  }

  function closeWhenIdle(socket: Socket, res: ServerResponse): void {
    const idle = options.faults().active('idle_close')
    if (idle === undefined) return
    res.once('finish', () => setTimeout(() => socket.end(), idle.ms))
  }

  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, () => {
        server.off('error', reject)
        resolve()
      })
    })

  const resetAll = (): void => {
    for (const socket of sockets.keys()) socket.resetAndDestroy()
  }

  await listen(options.port)
  // A listening TCP server's address is never a string or null.
  const { port } = server.address() as AddressInfo

  const apply = async (): Promise<void> => {
    const refuse = dead ? { ms: undefined } : options.faults().active('refuse')
    if (refuse === undefined && !server.listening) {
      server = makeServer()
      await listen(port)
    }
    if (refuse === undefined || !server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    resetAll()
    await closed
    if (refuse.ms !== undefined)
      reopen = setTimeout(() => options.faults().take('refuse'), refuse.ms)
  }
  const settle = (): void => {
    change = change.then(apply)
  }

  return {
    port,
    connectionOf: (req) => sockets.get(req.socket) ?? 0,
    settle,
    settled: () => change,
    resetAll,
    die() {
      dead = true
      settle()
    },
    async close() {
      clearTimeout(reopen)
      await change
      const closed = new Promise<void>((resolve) => {
        if (server.listening) server.close(() => resolve())
        else resolve()
      })
      for (const socket of sockets.keys()) socket.destroy()
      await closed
    },
  }
}
