// Every request that is being handled: who, which model, where, how far. Operators see this list
// and cancel from it; nothing here decides anything.

import type { DialectName } from '../dialects/dialect.ts'
import { GatewayError } from '../errors.ts'
import type { AttemptFailure } from '../policy/retry.ts'
import type { TraceContext } from '../observe/trace-context.ts'

export type RequestPhase = 'reading' | 'waiting' | 'starting' | 'streaming'

export interface ActiveRequest {
  readonly id: string
  readonly dialect: DialectName
  readonly path: string
  /** Monotonic time of arrival. */
  readonly receivedAt: number
  readonly trace: TraceContext
  readonly signal: AbortSignal
  phase: RequestPhase
  model: string
  /** What the client asked for where an alias or a fallback changed it. */
  askedModel: string | undefined
  /** Work that nobody waits for: it queues behind what is interactive. */
  background: boolean
  tenant: string
  actor: string
  worker: string | undefined
  attempts: number
  /** How attempts failed, in their order. */
  failures: AttemptFailure[]
  /** Monotonic times; undefined until they happen. */
  grantedAt: number | undefined
  firstByteAt: number | undefined
  queueMs: number
  /** What operators are told about it: names of events, each once. */
  readonly notices: Set<string>
  /** Chunks of the answer so far: about one a token. */
  chunks(): number
  /** Monotonic time of the newest byte from the worker; undefined while there is no attempt. */
  heardAt(): number | undefined
}

type Given = 'id' | 'dialect' | 'path' | 'receivedAt' | 'trace'

interface Entry extends ActiveRequest {
  controller: AbortController
}

export class ActiveRequests {
  readonly #entries = new Map<string, Entry>()
  readonly #onLeave = new Set<() => void>()

  open(request: Pick<ActiveRequest, Given>): ActiveRequest {
    const controller = new AbortController()
    const entry: Entry = {
      ...request,
      controller,
      signal: controller.signal,
      phase: 'reading',
      model: '',
      askedModel: undefined,
      background: false,
      tenant: 'default',
      actor: '',
      worker: undefined,
      attempts: 0,
      failures: [],
      grantedAt: undefined,
      firstByteAt: undefined,
      queueMs: 0,
      notices: new Set(),
      chunks: () => 0,
      heardAt: () => undefined,
    }
    this.#entries.set(request.id, entry)
    return entry
  }

  close(request: ActiveRequest): void {
    this.#entries.delete(request.id)
    this.#left()
  }

  /** Calls back whenever a request has ended or lost its client; returns what ends that. */
  onLeave(action: () => void): () => void {
    this.#onLeave.add(action)
    return () => void this.#onLeave.delete(action)
  }

  #left(): void {
    for (const action of this.#onLeave) action()
  }

  /** A request for the model is at the worker whose client is still there. */
  isWanted(worker: string, model: string): boolean {
    for (const entry of this.#entries.values()) {
      if (entry.worker === worker && entry.model === model && !entry.signal.aborted) return true
    }
    return false
  }

  list(): readonly ActiveRequest[] {
    return [...this.#entries.values()]
  }

  get size(): number {
    return this.#entries.size
  }

  /** The client left: whatever is done for it ends. */
  clientGone(request: ActiveRequest): void {
    this.#entries.get(request.id)?.controller.abort(CLIENT_GONE)
    this.#left()
  }

  /** Ends a request from outside; its client is told who did it. False if there is none. */
  cancel(id: string, operator: string): boolean {
    const entry = this.#entries.get(id)
    entry?.controller.abort(new GatewayError({ code: 'cancelled_by_operator', operator }))
    this.#left()
    return entry !== undefined
  }

  /** True while a byte of an answer came from this worker within `withinMs`. */
  bytesFlowing(worker: string, now: number, withinMs: number): boolean {
    for (const entry of this.#entries.values()) {
      if (entry.worker !== worker || entry.firstByteAt === undefined) continue
      const heardAt = entry.heardAt()
      if (heardAt !== undefined && now - heardAt <= withinMs) return true
    }
    return false
  }
}

/** The reason of an abort that needs no answer: nobody is there to read it. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** One for all: making an error for each client that leaves would cost a stack each time. */
const CLIENT_GONE = new ClientGone()
