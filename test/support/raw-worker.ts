// A worker that says exactly the bytes it is told, when it is told: for what a well-behaved
// server cannot be made to do.

import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'

export type Step =
  /** Written as one packet where the kernel allows. */
  | { do: 'send'; bytes: string | Buffer }
  | { do: 'wait'; ms: number }
  /** Resets the connection, as a crash or a pulled cable does. */
  | { do: 'reset' }
  /** Closes cleanly. */
  | { do: 'fin' }
  /** Keeps the connection open and says nothing more. */
  | { do: 'hang' }

export interface RawWorker extends AsyncDisposable {
  url: string
  port: number
  /** Requests whose head and body have come, as text. */
  requests: string[]
  connections: number
  /** Resolves when a peer has closed a connection that was being answered. */
  abandoned: Promise<void>
}

/**
 * Answers the nth inference request with the nth script, the last script from then on. What the
 * gateway asks on its own (version, tags, ps, show) is answered as an Ollama with one model
 * `chat:1b` would, and is not counted.
 */
export async function startRawWorker(...scripts: Step[][]): Promise<RawWorker> {
  const sockets = new Set<Socket>()
  const { promise: abandoned, resolve: onAbandoned } = Promise.withResolvers<void>()
  const worker: Pick<RawWorker, 'requests' | 'connections'> = { requests: [], connections: 0 }
  const server = createServer((socket) => {
    worker.connections += 1
    sockets.add(socket)
    let received = ''
    let playing = false
    socket.on('error', () => {}) // resets are part of the play
    socket.on('close', () => {
      sockets.delete(socket)
      if (playing) onAbandoned()
    })
    socket.on('data', (data) => {
      received += data.toString('latin1')
      const length = requestLength(received)
      if (length === undefined || received.length < length) return
      const text = received.slice(0, length)
      received = received.slice(length)
      const own = ownAnswer(text)
      if (own !== undefined) {
        socket.end(own)
        return
      }
      worker.requests.push(text)
      const script = scripts[Math.min(worker.requests.length, scripts.length) - 1] ?? []
      playing = true
      void play(socket, script).then(() => (playing = false))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a TCP server that listens
  const { port } = server.address() as AddressInfo
  return Object.assign(worker, {
    url: `http://127.0.0.1:${port}`,
    port,
    abandoned,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

const DIGEST = 'a'.repeat(64)

function ownAnswer(request: string): string | undefined {
  const [, path] = /^\S+ (\S+)/.exec(request) ?? []
  if (path === '/api/version') return json('200 OK', { version: '0.33.0' })
  if (path === '/api/ps') return json('200 OK', { models: [] })
  if (path === '/api/show') return json('404 Not Found', { error: 'no' })
  if (path !== '/api/tags') return undefined
  const model = { name: 'chat:1b', model: 'chat:1b', size: 1, digest: DIGEST, details: {} }
  return json('200 OK', { models: [{ ...model, modified_at: '2026-01-01T00:00:00Z' }] })
}

function json(status: string, value: unknown): string {
  const body = JSON.stringify(value)
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
}

function requestLength(text: string): number | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const length = /content-length: (\d+)/i.exec(text.slice(0, end))?.[1]
  return end + 4 + Number(length ?? 0)
}

async function play(socket: Socket, script: readonly Step[]): Promise<void> {
  for (const step of script) {
    switch (step.do) {
      case 'send':
        socket.write(step.bytes)
        await new Promise((resolve) => setImmediate(resolve))
        break
      case 'wait':
        await new Promise((resolve) => setTimeout(resolve, step.ms))
        break
      case 'reset':
        socket.resetAndDestroy()
        return
      case 'fin':
        socket.end()
        return
      case 'hang':
        await new Promise((resolve) => socket.once('close', resolve))
        return
    }
  }
}

/** One HTTP chunk. */
export function chunk(text: string | Buffer): Step {
  const data = Buffer.from(text)
  const head = Buffer.from(`${data.length.toString(16)}\r\n`)
  return { do: 'send', bytes: Buffer.concat([head, data, Buffer.from('\r\n')]) }
}

export const lastChunk: Step = { do: 'send', bytes: '0\r\n\r\n' }

/** The head of a streamed answer. */
export function head(contentType = 'application/x-ndjson', status = '200 OK'): Step {
  const bytes = `HTTP/1.1 ${status}\r\ncontent-type: ${contentType}\r\ntransfer-encoding: chunked\r\n\r\n`
  return { do: 'send', bytes }
}
