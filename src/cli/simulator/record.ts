// What a simulated worker saw: each request byte for byte, how many ran at once,
// and who hung up when. Bounded: the oldest requests are forgotten first and long
// bodies are cut, with a flag.

/** Requests kept. */
const MAX_REQUESTS = 5000

/** Bytes of a body kept. */
const MAX_BODY = 4 * 1024 * 1024

export interface SeenRequest {
  id: number
  /** Milliseconds since 1970, by the worker's clock. */
  at: number
  method: string
  /** As sent, query included. */
  url: string
  path: string
  /** As sent, in order, spelling kept. */
  headers: readonly (readonly [string, string])[]
  framing: 'content-length' | 'chunked' | 'none'
  body: Buffer
  bodyBytes: number
  bodyTruncated: boolean
  model: string | undefined
  /** Which connection it came on, counted from 1. */
  connection: number
  /** Of the answer; undefined while none began. */
  status: number | undefined
  /** Body chunks sent. */
  chunks: number
  endedAt: number | undefined
  /** Set when the peer left before the answer was complete. */
  hungUp: { at: number; chunk: number } | undefined
  /** Bytes came after its JSON had ended: a native route does not hear its peer leave. */
  deaf: boolean
  /** Its peer left with a full buffer unread; with `pausedReaderWedges` its permit is lost. */
  stuck: boolean
  /** Faults that struck it. */
  faults: string[]
}

/** What is known of a request when its headers have come. */
export type Arrival = Pick<
  SeenRequest,
  'at' | 'method' | 'url' | 'path' | 'headers' | 'framing' | 'connection'
>

export interface Concurrency {
  now: number
  high: number
}

export interface Recorder {
  begin(arrival: Arrival): SeenRequest
  body(request: SeenRequest, body: Buffer): void
  /** Inference requests in flight, from arrival to the last byte or the hang-up. */
  enter(model: string): void
  leave(model: string): void
  opened(): number
  closed(): void
  requests(): readonly SeenRequest[]
  counts(): Readonly<Record<string, number>>
  concurrency(): Concurrency & { models: Readonly<Record<string, Concurrency>> }
  connections(): { opened: number; open: number }
  reset(): void
}

export function createRecorder(): Recorder {
  return new RingRecorder()
}

class RingRecorder implements Recorder {
  #requests: SeenRequest[] = []
  #counts: Record<string, number> = {}
  #total: Concurrency = { now: 0, high: 0 }
  #models = new Map<string, Concurrency>()
  #ids = 0
  #opened = 0
  #open = 0

  begin(arrival: Arrival): SeenRequest {
    this.#ids += 1
    const request: SeenRequest = {
      ...arrival,
      id: this.#ids,
      body: Buffer.alloc(0),
      bodyBytes: 0,
      bodyTruncated: false,
      model: undefined,
      status: undefined,
      chunks: 0,
      endedAt: undefined,
      hungUp: undefined,
      deaf: false,
      stuck: false,
      faults: [],
    }
    this.#requests.push(request)
    if (this.#requests.length > MAX_REQUESTS) {
      this.#requests = this.#requests.slice(-MAX_REQUESTS / 2)
    }
    const key = `${arrival.method} ${arrival.path}`
    this.#counts[key] = (this.#counts[key] ?? 0) + 1
    return request
  }

  body(request: SeenRequest, body: Buffer): void {
    request.bodyBytes = body.length
    request.bodyTruncated = body.length > MAX_BODY
    request.body = request.bodyTruncated ? Buffer.from(body.subarray(0, MAX_BODY)) : body
  }

  enter(model: string): void {
    rise(this.#total)
    const known = this.#models.get(model) ?? { now: 0, high: 0 }
    this.#models.set(model, known)
    rise(known)
  }

  leave(model: string): void {
    this.#total.now -= 1
    const known = this.#models.get(model)
    if (known !== undefined) known.now -= 1
  }

  opened(): number {
    this.#opened += 1
    this.#open += 1
    return this.#opened
  }

  closed(): void {
    this.#open -= 1
  }

  requests(): readonly SeenRequest[] {
    return this.#requests
  }

  counts(): Readonly<Record<string, number>> {
    return this.#counts
  }

  concurrency(): Concurrency & { models: Readonly<Record<string, Concurrency>> } {
    return { ...this.#total, models: Object.fromEntries(this.#models) }
  }

  connections(): { opened: number; open: number } {
    return { opened: this.#opened, open: this.#open }
  }

  reset(): void {
    this.#requests = []
    this.#counts = {}
    this.#opened = this.#open
    this.#total.high = this.#total.now
    for (const [model, level] of this.#models) {
      level.high = level.now
      if (level.now === 0) this.#models.delete(model)
    }
  }
}

function rise(level: Concurrency): void {
  level.now += 1
  level.high = Math.max(level.high, level.now)
}

/** A request as the control route prints it. */
export function printRequest(request: SeenRequest): Record<string, unknown> {
  const { body, ...rest } = request
  return { ...rest, body: body.toString('utf8'), body_base64: body.toString('base64') }
}
