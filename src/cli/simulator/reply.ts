// Writes one answer as Go's net/http would: headers in its order, small bodies
// with a length and larger ones chunked, one transfer chunk per write. The faults
// of the request strike here.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { sleep, type SimClock } from './clock.ts'
import type { SimEvent } from './events.ts'
import type { Strikes } from './faults.ts'
import type { SeenRequest } from './record.ts'

/** Go sends a body that fits its buffer with a length, and chunks a longer one. */
const GO_BUFFER = 2048

export type Headers = Readonly<Record<string, string | readonly string[]>>

/** The stream has to break here, in the way of its dialect. */
export class StreamBroken extends Error {
  override readonly name = 'StreamBroken'
}

/** The connection is gone; there is nobody to answer. */
export class Gone extends Error {
  override readonly name = 'Gone'
}

export interface ReplyDeps {
  clock: SimClock
  emit: (event: SimEvent) => void
  /** The whole worker dies. */
  die: () => void
  /** The runner of this request's model dies. */
  killRunner: () => void
}

export interface Reply {
  /** Headers that every answer carries, set before the route runs. */
  preset(headers: Headers): void
  /** A whole answer at once. */
  send(status: number, headers: Headers, body?: string): Promise<void>
  /** Chunks of a stream; the head goes out with the first one. */
  begin(status: number, headers: Headers): void
  write(chunk: string): Promise<void>
  /** The last chunks, which say that the stream is complete. */
  finish(chunks: readonly string[]): Promise<void>
  /** Ends a stream without saying that it is complete. */
  end(): void
  readonly begun: boolean
  readonly response: ServerResponse
}

export function createReply(
  req: IncomingMessage,
  res: ServerResponse,
  context: { seen: SeenRequest; strikes: Strikes; signal: AbortSignal; deps: ReplyDeps },
): Reply {
  const { seen, strikes, signal, deps } = context
  let head: { status: number; headers: Headers } | undefined
  let common: Headers = {}
  let begun = false

  const sendHead = async (length: number | undefined): Promise<void> => {
    if (begun || head === undefined) return
    begun = true
    await sleep(deps.clock, strikes.get('slow_headers')?.ms ?? 0, signal)
    const encoding = strikes.get('gzip')?.declared === true ? { 'Content-Encoding': 'gzip' } : {}
    writeGoHead(req, res, head.status, { ...common, ...head.headers, ...encoding }, length)
    seen.status = head.status
    deps.emit({ name: 'headers-sent', at: deps.clock.now(), requestId: seen.id, path: seen.path })
    if (strikes.get('silent_after_headers') !== undefined) {
      res.flushHeaders()
      await never(signal)
    }
    if (strikes.get('cut')?.after === 0) res.flushHeaders()
  }

  const put = async (chunk: string): Promise<void> => {
    await strikeBefore({ res, seen, strikes, signal, deps })
    const bytes = strikes.get('gzip') === undefined ? Buffer.from(chunk) : gzipSync(chunk)
    const drip = strikes.get('drip')
    const step = drip?.bytes ?? bytes.length
    for (let at = 0; at < bytes.length; at += step) {
      await push(res, bytes.subarray(at, at + step), signal)
      if (drip !== undefined) await sleep(deps.clock, drip.ms ?? 0, signal)
    }
    seen.chunks += 1
    deps.emit({
      name: 'chunk-sent',
      at: deps.clock.now(),
      requestId: seen.id,
      path: seen.path,
      chunk: seen.chunks,
    })
  }

  const reply: Reply = {
    response: res,
    get begun() {
      return begun
    },
    preset(headers) {
      common = headers
    },
    async send(status, headers, body = '') {
      head = { status, headers }
      const plainBody = strikes.get('gzip') === undefined && strikes.get('drip') === undefined
      const length = Buffer.byteLength(body)
      await sendHead(length <= GO_BUFFER && plainBody ? length : undefined)
      if (body !== '' && req.method !== 'HEAD') await put(body)
      res.end()
    },
    begin(status, headers) {
      head = { status, headers }
    },
    async write(chunk) {
      await sendHead(undefined)
      await put(chunk)
    },
    async finish(chunks) {
      if (strikes.get('no_terminator') === undefined) {
        for (const chunk of chunks) await reply.write(chunk)
      } else {
        await sendHead(undefined)
      }
      res.end()
    },
    end: () => void res.end(),
  }
  return reply
}

/** Handler headers sorted, then Date, Content-Length, Connection, Transfer-Encoding. */
export function writeGoHead(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: Headers,
  length: number | undefined,
): void {
  const closing = req.headers.connection?.toLowerCase() === 'close' || req.httpVersion === '1.0'
  const flat: string[] = []
  const names = Object.keys(headers).toSorted()
  for (const name of names) {
    if (name === 'Connection' && closing) continue
    for (const value of [headers[name] ?? []].flat()) flat.push(name, value)
  }
  const bodiless = status === 204 || (req.method === 'HEAD' && length === undefined)
  flat.push('Date', new Date().toUTCString())
  if (length !== undefined && status !== 204) flat.push('Content-Length', String(length))
  if (closing) flat.push('Connection', 'close')
  else if (!names.includes('Connection')) res.removeHeader('connection')
  if (length === undefined && !bodiless) flat.push('Transfer-Encoding', 'chunked')
  res.sendDate = false
  res.writeHead(status, flat)
}

async function strikeBefore(context: {
  res: ServerResponse
  seen: SeenRequest
  strikes: Strikes
  signal: AbortSignal
  deps: ReplyDeps
}): Promise<void> {
  const { res, seen, strikes, signal, deps } = context
  const gap = strikes.get('gap')
  if (gap !== undefined && seen.chunks >= (gap.after ?? 1)) await sleep(deps.clock, gap.ms, signal)
  const cut = strikes.get('cut')
  if (cut !== undefined && seen.chunks >= cut.after) {
    await cutConnection(res, cut.how)
    throw new Gone('cut by a fault')
  }
  const die = strikes.get('die')
  if (die !== undefined && seen.chunks >= (die.after ?? 0)) {
    await flushed(res)
    deps.die()
    throw new Gone('the worker died')
  }
  const broken = strikes.get('stream_error')
  if (broken !== undefined && seen.chunks >= broken.after) {
    throw new StreamBroken(broken.message ?? 'unexpected EOF')
  }
  const kill = strikes.get('kill_runner')
  if (kill !== undefined && seen.chunks >= kill.after) {
    deps.killRunner()
    throw new StreamBroken('unexpected EOF')
  }
}

/** Ends a connection in the middle of an answer, after what was written has left. */
export async function cutConnection(res: ServerResponse, how: 'fin' | 'rst'): Promise<void> {
  await flushed(res)
  const { socket } = res
  if (how === 'rst') socket?.resetAndDestroy()
  else socket?.end()
}

/** Resolves when the socket has taken all that was written. */
async function flushed(res: ServerResponse): Promise<void> {
  const { socket } = res
  if (socket === null || socket.destroyed) return
  // The kernel has it once the write callback runs; a turn of the loop lets the peer read it.
  await new Promise<void>((resolve) => void socket.write('', () => resolve()))
  await new Promise((resolve) => setImmediate(resolve))
}

/** A real Ollama, too, stops generating for a reader that does not read. */
async function push(res: ServerResponse, bytes: Buffer, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (res.write(bytes)) return
  await new Promise<void>((resolve, reject) => {
    const done = (): void => {
      res.off('drain', done)
      signal.removeEventListener('abort', left)
      resolve()
    }
    const left = (): void => {
      res.off('drain', done)
      reject(signal.reason as Error)
    }
    res.once('drain', done)
    signal.addEventListener('abort', left, { once: true })
  })
}

/** Waits until the peer has left. */
export function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    else signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
