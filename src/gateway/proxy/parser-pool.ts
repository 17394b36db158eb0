// Parses large bodies beside the serving loop, so that 1,000 streams do not stall while one
// client sends 100 MiB. Threads start with the first large body and never keep the process alive.

import type { Worker } from 'node:worker_threads'
import { startParserThread } from './parser-worker.ts'
import { GatewayError } from '../errors.ts'
import type { ParsedBody } from './parse-body.ts'
import type { ParseJob, ParseResult } from './parser-thread.ts'

export interface LargeBody {
  bytes: Buffer
  parsed: ParsedBody
}

interface Pending {
  resolve(body: LargeBody): void
  reject(error: unknown): void
}

interface Thread {
  worker: Worker
  pending: Map<number, Pending>
}

/** Two cores are the yardstick: one thread parses a huge body, the other the merely large. */
const MAX_THREADS = 2

export class ParserPool {
  readonly #threads: Thread[] = []
  #nextId = 1

  /** Takes the bytes away from the caller (they are transferred) and gives them back parsed. */
  parse(bytes: Buffer, path: string): Promise<LargeBody> {
    const { promise, resolve, reject } = Promise.withResolvers<LargeBody>()
    const id = this.#nextId
    this.#nextId += 1
    const thread = this.#idlest()
    thread.pending.set(id, { resolve, reject })
    const owned = ownBuffer(bytes)
    const job: ParseJob = { id, bytes: owned, path }
    thread.worker.postMessage(job, [owned])
    return promise
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.splice(0).map(({ worker }) => worker.terminate()))
  }

  #idlest(): Thread {
    const idle = this.#threads.find((thread) => thread.pending.size === 0)
    if (idle !== undefined) return idle
    if (this.#threads.length < MAX_THREADS) return this.#start()
    const [first, ...others] = this.#threads
    if (first === undefined) return this.#start()
    return others.reduce(
      (best, next) => (next.pending.size < best.pending.size ? next : best),
      first,
    )
  }

  #start(): Thread {
    const worker = startParserThread()
    worker.unref()
    const thread: Thread = { worker, pending: new Map() }
    worker.on('message', (result: ParseResult) => settle(thread, result))
    worker.on('error', (error) => this.#lost(thread, error))
    worker.on('exit', () => this.#lost(thread, new Error('the parser thread ended')))
    this.#threads.push(thread)
    return thread
  }

  /** A body that a thread could not survive fails its own request; the next gets a new thread. */
  #lost(thread: Thread, cause: unknown): void {
    const at = this.#threads.indexOf(thread)
    if (at !== -1) this.#threads.splice(at, 1)
    for (const { reject } of thread.pending.values()) {
      reject(
        new GatewayError(
          { code: 'invalid_request', detail: 'the request body is too complex to be parsed' },
          { cause },
        ),
      )
    }
    thread.pending.clear()
  }
}

function settle(thread: Thread, result: ParseResult): void {
  const pending = thread.pending.get(result.id)
  if (pending === undefined) return
  thread.pending.delete(result.id)
  if ('parsed' in result) {
    pending.resolve({ bytes: Buffer.from(result.bytes), parsed: result.parsed })
  } else if ('fault' in result) {
    pending.reject(new GatewayError(result.fault))
  } else {
    pending.reject(new Error(`parsing a request body failed: ${result.bug}`))
  }
}

/** An ArrayBuffer that holds these bytes and nothing else, without a copy where that is so. */
function ownBuffer(bytes: Buffer): ArrayBuffer {
  const { buffer, byteOffset, byteLength } = bytes
  if (buffer instanceof ArrayBuffer && byteOffset === 0 && buffer.byteLength === byteLength) {
    return buffer
  }
  return new Uint8Array(bytes).buffer
}
