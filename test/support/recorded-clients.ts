// What real clients sent to a real Ollama, and a client that sends it again: the same headers in
// the same order, and the same bytes of body.

import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'

export const RECORDED_CLIENTS = 'test/fixtures/clients/recorded.json'

export interface RecordedRequest {
  method: string
  path: string
  headers: [string, string][]
  body: string | null
  /** That of the real Ollama, or, where none was asked, what the client needs. */
  status: number
}

/** One thing that somebody did with a client. */
export interface RecordedAction {
  client: string
  requests: RecordedRequest[]
}

export const readRecordedClients = (): RecordedAction[] => read(RECORDED_CLIENTS)

/** Written by hand from what is known of clients that were not recorded. */
export const readUnrecordedClients = (): RecordedAction[] =>
  read('test/fixtures/clients/unrecorded.json')

const read = (file: string): RecordedAction[] =>
  JSON.parse(readFileSync(file, 'utf8')) as RecordedAction[]

export type Sent = Pick<RecordedRequest, 'method' | 'path' | 'headers' | 'body'>

export interface Answer {
  status: number
  type: string
  header(name: string): string | undefined
  text: string
  /** Its one JSON value. */
  json<T>(): T
}

/** `leave`: the client ends the connection at the first byte of the answer. */
export async function replay(
  port: number,
  { method, path, headers, body }: Sent,
  leave = false,
): Promise<Answer> {
  const length = body === null ? [] : ['Content-Length', String(Buffer.byteLength(body))]
  const raw = ['Host', `127.0.0.1:${port}`, ...headers.flat(), ...length]
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const sent = request({ host: '127.0.0.1', port, method, path, headers: raw, agent: false })
  sent.on('error', reject)
  sent.on('response', (answer) => {
    const whole = leave ? firstBytes(answer) : text(answer)
    whole.then((received) => {
      if (leave) sent.destroy()
      resolve({
        status: answer.statusCode ?? 0,
        type: answer.headers['content-type'] ?? '',
        header: (name) => answer.headers[name]?.toString(),
        text: received,
        json: <T>() => JSON.parse(received) as T,
      })
    }, reject)
  })
  sent.end(body ?? undefined)
  return await promise
}

function firstBytes(answer: NodeJS.ReadableStream): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  answer.once('data', (chunk: Buffer) => resolve(chunk.toString()))
  answer.once('error', reject)
  return promise
}
