// A client over a plain socket: sends exactly what it is told and keeps every
// header and every transfer chunk of the answer as it came.

import { connect, type Socket } from 'node:net'
import type { RawAnswer } from './exchange-shape.ts'

export interface RawRequest {
  method: string
  path: string
  headers: readonly (readonly [string, string])[]
  body: string | null
  host?: string
}

export interface RawExchange {
  answer: Promise<RawAnswer>
  socket: Socket
}

/** The answer as far as it has come, once the connection has ended. */
export function send(
  port: number,
  request: RawRequest,
  options: { leaveAfterChunks?: number; host?: string } = {},
): RawExchange {
  const socket = connect(port, options.host ?? '127.0.0.1')
  const answer = new Promise<RawAnswer>((resolve, reject) => {
    const received: Buffer[] = []
    let endedBy = 'server'
    const done = (): void => {
      const text = Buffer.concat(received)
      if (text.length === 0) reject(new Error('the connection ended before any byte'))
      else resolve(parseAnswer(text, request.method, endedBy))
    }
    socket.on('data', (chunk) => {
      received.push(Buffer.from(chunk))
      const wanted = options.leaveAfterChunks
      if (wanted === undefined) return
      const { chunks } = parseAnswer(Buffer.concat(received), request.method, 'client')
      if (chunks.length < wanted) return
      endedBy = 'client'
      socket.destroy()
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', done)
  })
  socket.write(head(port, request) + (request.body ?? ''))
  return { answer, socket }
}

function head(port: number, { method, path, headers, body, host }: RawRequest): string {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host ?? `127.0.0.1:${port}`}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(body === null ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

function parseAnswer(bytes: Buffer, method: string, endedBy: string): RawAnswer {
  const end = bytes.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(': ')
    return [line.slice(0, colon), line.slice(colon + 2)]
  })
  const body = bytes.subarray(end + 4)
  const has = (name: string): boolean => headers.some(([header]) => header === name)
  const chunked = has('Transfer-Encoding')
  const { chunks, terminated } = chunked
    ? dechunk(body)
    : {
        chunks: body.length === 0 || method === 'HEAD' ? [] : [body.toString('utf8')],
        terminated: true,
      }
  let framing = 'until close'
  if (has('Content-Length')) framing = 'content-length'
  if (chunked) framing = terminated ? 'chunked' : 'chunked, not terminated'
  const status = Number(statusLine.split(' ')[1])
  return { status, statusLine, headers, framing, chunks, endedBy }
}

function dechunk(body: Buffer): { chunks: string[]; terminated: boolean } {
  const chunks: string[] = []
  let at = 0
  for (;;) {
    const lineEnd = body.indexOf('\r\n', at)
    if (lineEnd < 0) return { chunks, terminated: false }
    const size = Number.parseInt(body.subarray(at, lineEnd).toString('latin1'), 16)
    if (size === 0) return { chunks, terminated: true }
    const from = lineEnd + 2
    if (body.length < from + size + 2) return { chunks, terminated: false }
    chunks.push(body.subarray(from, from + size).toString('utf8'))
    at = from + size + 2
  }
}
