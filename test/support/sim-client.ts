// Short ways to ask a simulated worker, for its own tests and for rigs.

import { request, type ClientRequest, type IncomingMessage } from 'node:http'

export interface Asked {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  text: string
  /** Whether the body came to its proper end. */
  complete: boolean
}

export interface Asking {
  /** Resolves with the whole answer; rejects where the connection fails before one. */
  answer: Promise<Asked>
  /** Resolves when the first header has come. */
  headers: Promise<IncomingMessage>
  /** How much of the body has come. */
  received(): string
  leave(): void
}

export function ask(url: string, path: string, body?: unknown, method?: string): Asking {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = Promise.withResolvers<IncomingMessage>()
  const answer = Promise.withResolvers<Asked>()
  let received = ''
  const req: ClientRequest = request(
    `${url}${path}`,
    {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      agent: false,
      headers: text === undefined ? {} : { 'content-length': Buffer.byteLength(text) },
    },
    (res) => {
      headers.resolve(res)
      res.setEncoding('utf8')
      res.on('data', (chunk: string) => {
        received += chunk
      })
      res.on('error', () => {})
      res.on('close', () =>
        answer.resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          text: received,
          complete: res.complete,
        }),
      )
    },
  )
  req.on('error', (error) => {
    headers.reject(error)
    answer.reject(error)
  })
  // Whoever asks may wait for only one of the two.
  headers.promise.catch(() => {})
  answer.promise.catch(() => {})
  req.end(text)
  return {
    answer: answer.promise,
    headers: headers.promise,
    received: () => received,
    leave: () => req.destroy(),
  }
}

/** A native chat of one short message. */
export const chatBody = (model: string, more: Record<string, unknown> = {}) => ({
  model,
  messages: [{ role: 'user', content: 'hi' }],
  ...more,
})

export const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
