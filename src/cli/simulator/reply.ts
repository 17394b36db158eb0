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
  /** The peer left while there was more to send than it had read. */
  stuck: () => void
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

interface ReplyContext {
  /** The stream has broken once; what says so is not to break again. */
  broken?: boolean
  seen: SeenRequest
  strikes: Strikes
  signal: AbortSignal
  deps: ReplyDeps
}

export function createReply(
  req: IncomingMessage,
  res: ServerResponse,
  context: ReplyContext,
): Reply {
  return new GoReply(req, res, context)
}

class GoReply implements Reply {
  readonly response: ServerResponse
  readonly #req: IncomingMessage
  readonly #context: ReplyContext
  #head: { status: number; headers: Headers } | undefined
  #common: Headers = {}
  #begun = false

  constructor(req: IncomingMessage, res: ServerResponse, context: ReplyContext) {
    this.#req = req
    this.response = res
    this.#context = context
  }

  get begun(): boolean {
    return this.#begun
  }

  preset(headers: Headers): void {
    this.#common = headers
  }

  async send(status: number, headers: Headers, body = ''): Promise<void> {
    const { strikes } = this.#context
    this.begin(status, headers)
    const plainBody = strikes.get('gzip') === undefined && strikes.get('drip') === undefined
    const length = Buffer.byteLength(body)
    await this.#sendHead(length <= GO_BUFFER && plainBody ? length : undefined)
    if (body !== '' && this.#req.method !== 'HEAD') await this.#put(body)
    this.end()
  }

  begin(status: number, headers: Headers): void {
    this.#head = { status, headers }
  }

  async write(chunk: string): Promise<void> {
    // What breaks before the first chunk still has a status of its own.
    strikeStream(this.#context)
    await this.#sendHead(undefined)
    await this.#put(chunk)
  }

  async finish(chunks: readonly string[]): Promise<void> {
    if (this.#context.strikes.get('no_terminator') === undefined) {
      for (const chunk of chunks) await this.write(chunk)
    }
    await this.#sendHead(undefined)
    this.end()
  }

  end(): void {
    this.response.end()
  }

  async #sendHead(length: number | undefined): Promise<void> {
    if (this.#begun || this.#head === undefined) return
    const { seen, strikes, signal, deps } = this.#context
    await sleep(deps.clock, strikes.get('slow_headers')?.ms ?? 0, signal)
    this.#begun = true
    const { status } = this.#head
    const encoding = strikes.get('gzip')?.declared === true ? { 'Content-Encoding': 'gzip' } : {}
    const headers = { ...this.#common, ...this.#head.headers, ...encoding }
    writeGoHead(this.#req, this.response, { status, headers, length })
    seen.status = status
    deps.emit({ name: 'headers-sent', at: deps.clock.now(), requestId: seen.id, path: seen.path })
    if (strikes.get('cut')?.after === 0) this.response.flushHeaders()
    if (strikes.get('silent_after_headers') === undefined) return
    this.response.flushHeaders()
    await never(signal)
  }

  async #put(chunk: string): Promise<void> {
    const { seen, strikes, signal, deps } = this.#context
    await strikeBefore(this.response, this.#context)
    const bytes = strikes.get('gzip') === undefined ? Buffer.from(chunk) : gzipSync(chunk)
    const drip = strikes.get('drip')
    const step = drip?.bytes ?? Math.max(1, bytes.length)
    for (let at = 0; at < bytes.length; at += step) {
      await push(this.response, bytes.subarray(at, at + step), { signal, stuck: deps.stuck })
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
}

export interface Head {
  status: number
  headers: Headers
  /** Undefined: chunked. */
  length: number | undefined
}

/** Handler headers sorted, then Date, Content-Length, Connection, Transfer-Encoding. */
export function writeGoHead(req: IncomingMessage, res: ServerResponse, head: Head): void {
  const { status, headers } = head
  const closing = req.headers.connection?.toLowerCase() === 'close' || req.httpVersion === '1.0'
  const names = Object.keys(headers)
    .filter((name) => !(closing && name === 'Connection'))
    .toSorted()
  const flat = names.flatMap((name) =>
    [headers[name] ?? []].flat().flatMap((value) => [name, value]),
  )
  flat.push('Date', new Date().toUTCString(), ...lengthOf(head))
  if (closing) flat.push('Connection', 'close')
  else if (!names.includes('Connection')) res.removeHeader('connection')
  if (isChunked(req, head)) flat.push('Transfer-Encoding', 'chunked')
  res.sendDate = false
  res.writeHead(status, flat)
}

const lengthOf = ({ status, length }: Head): string[] =>
  length === undefined || status === 204 ? [] : ['Content-Length', String(length)]

const isChunked = (req: IncomingMessage, { status, length }: Head): boolean =>
  length === undefined && status !== 204 && req.method !== 'HEAD'

async function strikeBefore(res: ServerResponse, context: ReplyContext): Promise<void> {
  const { seen, strikes, signal, deps } = context
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
}

/** The engine behind a stream fails, once. */
function strikeStream(context: ReplyContext): void {
  const { seen, strikes, deps } = context
  const broken = strikes.get('stream_error')
  const kill = strikes.get('kill_runner')
  const after = Math.min(broken?.after ?? Infinity, kill?.after ?? Infinity)
  if (context.broken === true || seen.chunks < after) return
  context.broken = true
  if (kill !== undefined) deps.killRunner()
  throw new StreamBroken(broken?.message ?? 'unexpected EOF')
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

/**
 * Writes a chunk and waits until the kernel has it: each chunk leaves in a write of
 * its own, and, as in a real Ollama, nothing more is made for a reader that does not read.
 */
async function push(
  res: ServerResponse,
  bytes: Buffer,
  { signal, stuck }: { signal: AbortSignal; stuck: () => void },
): Promise<void> {
  signal.throwIfAborted()
  if (res.destroyed) throw new Gone('nobody is there to write to')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const unread = (): boolean => (res.socket?.writableLength ?? 0) > 0
  let waiting = false
  const left = (): void => {
    if (waiting) stuck()
    reject(signal.reason as Error)
  }
  signal.addEventListener('abort', left, { once: true })
  res.write(bytes, () => resolve())
  // A turn later the kernel has taken what it can; what is left waits for the reader.
  setImmediate(() => {
    waiting = unread()
  })
  await promise.finally(() => signal.removeEventListener('abort', left))
}

/** Waits until the peer has left. */
export function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error)
    else signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
