// The one way CLI and TUI speak with a gateway. It loads neither undici nor zod, so that a command
// starts within 100 ms; the shapes are imported as types only.

import type { IncomingMessage } from 'node:http'
import { AdminError } from './faults.ts'
import type { FaultBody } from './faults.ts'
import { mergeChange } from './merge.ts'
import { operations } from './operations.ts'
import type { CallName, OperationName, StreamName } from './operations.ts'
import type { InputOf, OutputOf } from './schema.ts'
import type { Snapshot } from './schema/snapshot.ts'
import type { Sent, Transport } from './transport.ts'
import { ACTOR_HEADER, VERSION, VERSION_HEADER } from './version.ts'

export interface ClientOptions {
  transport: Transport
  /** Who asks, as in `root@pts/3`. The gateway writes it down as a claim. */
  actor: string
  /** Refuses every change here already; a dry run is none. */
  readOnly?: boolean
}

export interface WatchHandlers {
  /** The whole state, first at once, then after each change. Unchanged rows keep their identity. */
  onSnapshot(snapshot: Snapshot): void
  /** Anything arrived, a heartbeat too: the gateway is alive. At least every two seconds. */
  onAlive?(mono: number): void
  /** The stream ended; nothing is called after it. Reconnecting is the caller's decision. */
  onError(error: AdminError): void
}

/** A read that takes longer means a gateway that is frozen. Changes may take as long as they take. */
const READ_TIMEOUT_MS = 10_000
/** No answer is larger; 200 workers with 500 models are a tenth of it. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024

export class AdminClient {
  readonly #transport: Transport
  readonly #actor: string
  readonly #readOnly: boolean
  #gatewayVersion: string | undefined

  constructor({ transport, actor, readOnly = false }: ClientOptions) {
    this.#transport = transport
    this.#actor = actor
    this.#readOnly = readOnly
  }

  /** Version of the gateway that answered last; undefined before the first answer. */
  get gatewayVersion(): string | undefined {
    return this.#gatewayVersion
  }

  /** One sentence when the gateway has another version than this program, else undefined. */
  get skew(): string | undefined {
    const theirs = this.#gatewayVersion
    if (theirs === undefined || theirs === VERSION) return undefined
    return `the gateway is version ${theirs}, this program is ${VERSION}; what one of them does not know is left out`
  }

  /** Asks once. Throws AdminError. */
  async call<N extends CallName>(
    name: N,
    input: InputOf<N>,
    options: { signal?: AbortSignal } = {},
  ): Promise<OutputOf<N>> {
    const signals = options.signal === undefined ? [] : [options.signal]
    if (!operations[name].changes) signals.push(AbortSignal.timeout(READ_TIMEOUT_MS))
    const { answer } = await this.#send(name, input, AbortSignal.any(signals))
    const text = await readAll(answer).catch((cause: unknown) => {
      throw disconnected(cause)
    })
    if (answer.statusCode !== 200) throw faultOf(text, answer.statusCode)
    // Same table, same shapes: the gateway checked it.
    return parse(text) as OutputOf<N>
  }

  /** Asks for an answer in lines. The iteration ends with the stream; leaving it hangs up. */
  async *stream<N extends StreamName>(
    name: N,
    input: InputOf<N>,
    signal: AbortSignal,
  ): AsyncGenerator<OutputOf<N>, void, undefined> {
    const { answer } = await this.#send(name, input, signal)
    if (answer.statusCode !== 200) throw faultOf(await readAll(answer), answer.statusCode)
    try {
      for await (const line of linesOf(answer)) {
        const value = parse(line)
        if (isFaultBody(value)) throw new AdminError(value.error)
        // Same table, same shapes: the gateway checked it.
        yield value as OutputOf<N>
      }
    } catch (cause) {
      if (cause instanceof AdminError) throw cause
      throw disconnected(cause)
    } finally {
      answer.destroy()
    }
  }

  /** Follows the gateway until the signal or an error ends it. Never rejects. */
  async watch(handlers: WatchHandlers, signal: AbortSignal): Promise<void> {
    try {
      let snapshot: Snapshot | undefined
      for await (const line of this.stream('watch', {}, signal)) {
        if (line.type === 'snapshot') snapshot = line.snapshot
        if (line.type === 'change' && snapshot !== undefined) snapshot = mergeChange(snapshot, line)
        handlers.onAlive?.(line.type === 'snapshot' ? line.snapshot.mono : line.mono)
        if (line.type !== 'heartbeat' && snapshot !== undefined) handlers.onSnapshot(snapshot)
      }
      throw disconnected(new Error('it ended the stream'))
    } catch (error) {
      if (signal.aborted) return
      handlers.onError(error instanceof AdminError ? error : disconnected(error))
    }
  }

  /** Ends idle connections, so that the process may exit. */
  close(): void {
    this.#transport.close()
  }

  async #send(name: OperationName, input: object, signal: AbortSignal): Promise<Sent> {
    const { method, path, changes } = operations[name]
    if (this.#readOnly && changes && !isDryRun(input)) throw new AdminError(ONLY_READS)
    const isRead = method === 'GET'
    const body = isRead ? undefined : JSON.stringify(input)
    const headers = {
      host: 'ogw',
      [VERSION_HEADER]: VERSION,
      [ACTOR_HEADER]: encodeURIComponent(this.#actor),
      ...(body !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }),
    }
    const target = isRead ? path + queryOf(input) : path
    const sent = await this.#transport.send({ method, path: target, headers, signal }, body)
    const version = sent.answer.headers[VERSION_HEADER]
    if (typeof version === 'string') this.#gatewayVersion = version
    return sent
  }
}

const ONLY_READS = { code: 'refused', message: 'this console only reads (--read-only)' } as const

const isDryRun = (input: object): boolean => 'dry_run' in input && input.dry_run === true

function queryOf(input: object): string {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(input)) {
    if (value !== undefined) query.append(key, String(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

async function readAll(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`the answer is larger than ${MAX_ANSWER_BYTES}`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function* linesOf(answer: IncomingMessage): AsyncGenerator<string, void, undefined> {
  let pending: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      pending.push(chunk.subarray(from, end))
      yield Buffer.concat(pending).toString('utf8')
      pending = []
      bytes = 0
      from = end + 1
    }
    const rest = chunk.subarray(from)
    bytes += rest.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`a line is larger than ${MAX_ANSWER_BYTES}`)
    if (rest.length > 0) pending.push(rest)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw disconnected(cause)
  }
}

function isFaultBody(value: unknown): value is FaultBody {
  if (typeof value !== 'object' || value === null || !('error' in value)) return false
  const { error } = value
  return typeof error === 'object' && error !== null && 'code' in error && 'message' in error
}

function faultOf(text: string, status: number | undefined): AdminError {
  const value: unknown = text.startsWith('{') ? parse(text) : undefined
  if (isFaultBody(value)) return new AdminError(value.error)
  return new AdminError({
    code: 'failed',
    message: `the gateway answered ${status} in no known form`,
  })
}

function disconnected(cause: unknown): AdminError {
  const detail = cause instanceof Error ? cause.message : String(cause)
  const message =
    cause instanceof Error && cause.name === 'TimeoutError'
      ? `the gateway took the connection but did not answer within ${READ_TIMEOUT_MS / 1000} s`
      : `the connection to the gateway broke: ${detail}`
  return new AdminError({ code: 'disconnected', message }, { cause })
}
