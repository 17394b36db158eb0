// The socket side of a simulated worker: listening, refusing, connections that
// are cut on accept, and kept-alive ones that are closed while idle.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { FaultBook } from './faults.ts'
import type { Recorder } from './record.ts'

export interface ListenerOptions {
  host: string
  port: number
  faults: () => FaultBook
  record: Recorder
  onConnection: (id: number) => void
  onRequest: (req: IncomingMessage, res: ServerResponse) => void
}

export async function createListener(options: ListenerOptions): Promise<Listener> {
  const listener = new Listener(options)
  await listener.open()
  return listener
}

const BAD_REQUEST =
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request'

export class Listener {
  readonly #options: ListenerOptions
  readonly #sockets = new Map<Socket, number>()
  #server: Server | undefined
  #port: number
  #dead = false
  #change: Promise<void> = Promise.resolve()
  #reopen: NodeJS.Timeout | undefined

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#port = options.port
  }

  get port(): number {
    return this.#port
  }

  /** Which connection a request came on, counted from 1. */
  connectionOf(req: IncomingMessage): number {
    return this.#sockets.get(req.socket) ?? 0
  }

  async open(): Promise<void> {
    const server = this.#makeServer()
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#port, this.#options.host, () => {
        server.off('error', reject)
        resolve()
      })
    })
    this.#server = server
    // A listening TCP server's address is never a string or null.
    this.#port = (server.address() as AddressInfo).port
  }

  /** Stops or begins to listen, as the faults now say. */
  settle(): void {
    this.#change = this.#change.then(() => this.#apply())
  }

  /** Resolves when the last `settle` has taken effect. */
  settled(): Promise<void> {
    return this.#change
  }

  resetAll(): void {
    for (const socket of this.#sockets.keys()) socket.resetAndDestroy()
  }

  /** Gone for good: nothing listens, every connection is reset. */
  die(): void {
    this.#dead = true
    this.settle()
  }

  async close(): Promise<void> {
    clearTimeout(this.#reopen)
    await this.#change
    const closed = stop(this.#server)
    for (const socket of this.#sockets.keys()) socket.destroy()
    await closed
  }

  async #apply(): Promise<void> {
    const refuse = this.#options.faults().active('refuse')
    const listening = this.#server !== undefined
    if (refuse === undefined && !this.#dead) {
      if (!listening) await this.open()
      return
    }
    if (!listening) return
    const closed = stop(this.#server)
    this.#server = undefined
    this.resetAll()
    await closed
    if (refuse?.ms === undefined) return
    this.#reopen = setTimeout(() => this.#options.faults().remove(refuse.id), refuse.ms)
  }

  #makeServer(): Server {
    // Go's server has no such limits; Node's would close what a real worker keeps.
    const limits = { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }
    const server = createServer(limits, (req, res) => {
      this.#closeWhenIdle(req.socket, res)
      this.#options.onRequest(req, res)
    })
    server.on('connection', (socket) => this.#accept(socket))
    server.on('clientError', (_, socket) => {
      if (socket.writable) socket.end(BAD_REQUEST)
    })
    return server
  }

  #accept(socket: Socket): void {
    const { record, onConnection, faults } = this.#options
    const id = record.opened()
    this.#sockets.set(socket, id)
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      this.#sockets.delete(socket)
      record.closed()
    })
    onConnection(id)
    if (faults().active('reset')?.on !== 'accept') return
    faults().take('reset')
    socket.resetAndDestroy()
  }

  #closeWhenIdle(socket: Socket, res: ServerResponse): void {
    const idle = this.#options.faults().active('idle_close')
    if (idle === undefined) return
    res.once('finish', () => setTimeout(() => socket.end(), idle.ms))
  }
}

function stop(server: Server | undefined): Promise<void> {
  if (server === undefined) return Promise.resolve()
  return new Promise((resolve) => void server.close(() => resolve()))
}
