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
  /** Faults that struck it. */
  faults: string[]
}

export interface Concurrency {
  now: number
  high: number
}

export interface Recorder {
  begin(
    request: Omit<
      SeenRequest,
      | 'id'
      | 'status'
      | 'chunks'
      | 'endedAt'
      | 'hungUp'
      | 'faults'
      | 'body'
      | 'bodyBytes'
      | 'bodyTruncated'
      | 'model'
    >,
  ): SeenRequest
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
  let requests: SeenRequest[] = []
  let counts: Record<string, number> = {}
  let total: Concurrency = { now: 0, high: 0 }
  let models = new Map<string, Concurrency>()
  let ids = 0
  let opened = 0
  let open = 0

  const ofModel = (model: string): Concurrency => {
    const known = models.get(model) ?? { now: 0, high: 0 }
    models.set(model, known)
    return known
  }
  const rise = (level: Concurrency): void => {
    level.now += 1
    level.high = Math.max(level.high, level.now)
  }

  return {
    begin(seen) {
      ids += 1
      const request: SeenRequest = {
        ...seen,
        id: ids,
        body: Buffer.alloc(0),
        bodyBytes: 0,
        bodyTruncated: false,
        model: undefined,
        status: undefined,
        chunks: 0,
        endedAt: undefined,
        hungUp: undefined,
        faults: [],
      }
      requests.push(request)
      if (requests.length > MAX_REQUESTS) requests = requests.slice(-MAX_REQUESTS / 2)
      const key = `${seen.method} ${seen.path}`
      counts[key] = (counts[key] ?? 0) + 1
      return request
    },
    body(request, body) {
      request.bodyBytes = body.length
      request.bodyTruncated = body.length > MAX_BODY
      request.body = request.bodyTruncated ? Buffer.from(body.subarray(0, MAX_BODY)) : body
    },
    enter(model) {
      rise(total)
      rise(ofModel(model))
    },
    leave(model) {
      total.now -= 1
      ofModel(model).now -= 1
    },
    opened() {
      opened += 1
      open += 1
      return opened
    },
    closed() {
      open -= 1
    },
    requests: () => requests,
    counts: () => counts,
    concurrency: () => ({ ...total, models: Object.fromEntries(models) }),
    connections: () => ({ opened, open }),
    reset() {
      requests = []
      counts = {}
      total = { now: total.now, high: total.now }
      models = new Map(
        [...models]
          .filter(([, { now }]) => now > 0)
          .map(([name, { now }]) => [name, { now, high: now }]),
      )
      opened = open
    },
  }
}

/** A request as the control route prints it. */
export function printRequest(request: SeenRequest): Record<string, unknown> {
  const { body, ...rest } = request
  return { ...rest, body: body.toString('utf8'), body_base64: body.toString('base64') }
}
