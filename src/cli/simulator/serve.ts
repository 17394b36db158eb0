// One request from its first header to its last byte: recorded, struck by faults,
// gated, routed.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { peekModel } from './bind.ts'
import { parseFirst } from './go-json.ts'
import { noStrikes, type Strikes } from './faults.ts'
import { gate } from './gate.ts'
import { parseName } from './names.ts'
import type { SeenRequest } from './record.ts'
import { createReply, Gone, type Reply } from './reply.ts'
import { match, type Match } from './router.ts'
import type { Exchange, Sim } from './sim.ts'
import { strikeInstead } from './strike.ts'

/** Bytes of a body that is not a blob. */
const MAX_BODY = 256 * 1024 * 1024

export interface Wire {
  sim: Sim
  /** Which connection a socket is, counted from 1. */
  connectionOf: (req: IncomingMessage) => number
  die: () => void
}

export async function serve(wire: Wire, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { sim } = wire
  const path = (req.url ?? '/').split('?')[0] ?? '/'
  const seen = begin(wire, req, path)
  const left = watchPeer(sim, res, seen)
  sim.events.emit({ name: 'request', at: seen.at, requestId: seen.id, path })
  try {
    const body = isBlob(req, path) ? Buffer.alloc(0) : await readBody(req, seen)
    sim.record.body(seen, body)
    seen.model = peekModel(body, req.headers['content-type'] ?? '')
    const strikes = path.startsWith('/_sim/') ? noStrikes : strike(sim, seen)
    await answer(wire, { req, res, seen, body, strikes, signal: left, path })
  } catch (error) {
    // A request whose body was read to its end is destroyed too: only `complete` tells them apart.
    if (left.aborted || error instanceof Gone || !req.complete) return
    throw error
  }
}

function begin({ sim, connectionOf }: Wire, req: IncomingMessage, path: string): SeenRequest {
  const { rawHeaders } = req
  const headers = Array.from({ length: rawHeaders.length / 2 }, (_, index): [string, string] => [
    rawHeaders[index * 2] ?? '',
    rawHeaders[index * 2 + 1] ?? '',
  ])
  const chunked = req.headers['transfer-encoding'] !== undefined
  const sized = req.headers['content-length'] !== undefined
  return sim.record.begin({
    at: sim.clock.now(),
    method: req.method ?? 'GET',
    url: req.url ?? '/',
    path,
    headers,
    framing: chunked ? 'chunked' : sized ? 'content-length' : 'none',
    connection: connectionOf(req),
  })
}

/** Aborted when the peer is gone before the answer is complete. */
function watchPeer(sim: Sim, res: ServerResponse, seen: SeenRequest): AbortSignal {
  const left = new AbortController()
  res.once('finish', () => {
    seen.endedAt = sim.clock.now()
    sim.events.emit({ name: 'response-end', at: seen.endedAt, requestId: seen.id, path: seen.path })
  })
  res.once('close', () => {
    if (seen.endedAt !== undefined) return
    const at = sim.clock.now()
    seen.hungUp = { at, chunk: seen.chunks }
    left.abort(new Gone('the peer left'))
    sim.events.emit({
      name: 'peer-closed',
      at,
      requestId: seen.id,
      path: seen.path,
      chunk: seen.chunks,
      ...(seen.model === undefined ? {} : { model: seen.model }),
    })
  })
  return left.signal
}

const isBlob = (req: IncomingMessage, path: string): boolean =>
  req.method === 'POST' && path.startsWith('/api/blobs/')

async function readBody(req: IncomingMessage, seen: SeenRequest): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY) throw new Gone('the body is too large to keep')
    chunks.push(chunk)
    if (!req.complete && seemsWhole(chunk)) {
      // A turn later the parser has seen all of the packet that the chunk came in.
      await new Promise((resolve) => setImmediate(resolve))
      seen.deaf = seen.deaf || (!req.complete && isWhole(chunks))
    }
  }
  return Buffer.concat(chunks)
}

const seemsWhole = (chunk: Buffer): boolean =>
  /\}\s*$/u.test(chunk.subarray(-64).toString('latin1'))

/** Whether the JSON has ended though more of the body may come. */
function isWhole(chunks: readonly Buffer[]): boolean {
  try {
    parseFirst(Buffer.concat(chunks).toString('utf8'))
    return true
  } catch {
    // Not yet: the rest comes with the next chunk.
    return false
  }
}

function strike(sim: Sim, seen: SeenRequest): Strikes {
  const strikes = sim.faults.strike(seen.path, seen.model)
  seen.faults = [...strikes.kinds]
  for (const kind of strikes.kinds) {
    sim.events.emit({
      name: 'fault',
      at: sim.clock.now(),
      requestId: seen.id,
      path: seen.path,
      detail: kind,
    })
  }
  return strikes
}

interface Answering {
  req: IncomingMessage
  res: ServerResponse
  seen: SeenRequest
  body: Buffer
  strikes: Strikes
  signal: AbortSignal
  path: string
}

async function answer(wire: Wire, answering: Answering): Promise<void> {
  const { sim, die } = wire
  const { req, res, seen, body, strikes, signal, path } = answering
  if (await strikeInstead({ req, res, seen, signal, body, clock: sim.clock }, strikes)) return
  const heard = hears(seen) ? signal : new AbortController().signal
  const reply = createReply(req, res, {
    seen,
    strikes,
    signal: heard,
    deps: {
      clock: sim.clock,
      emit: (event) => sim.events.emit(event),
      die,
      killRunner: () => killRunner(sim, seen),
      stuck: () => {
        seen.stuck = sim.settings.pausedReaderWedges
      },
    },
  })
  const exchange: Exchange = {
    sim,
    req,
    seen,
    path,
    params: {},
    text: body.toString(isMultipart(req) ? 'latin1' : 'utf8'),
    signal: heard,
    strikes,
    reply,
  }
  await route(exchange, match(sim.features, req.method ?? 'GET', path))
}

/**
 * Go sees a peer leave only once it has read the body to its end. Native handlers
 * stop at the closing brace, so what follows it in a later packet makes them deaf;
 * the /v1 middlewares read all of it.
 */
const hears = (seen: SeenRequest): boolean => !(seen.deaf && seen.path.startsWith('/api/'))

const isMultipart = (req: IncomingMessage): boolean =>
  (req.headers['content-type'] ?? '').includes('multipart/form-data')

function killRunner(sim: Sim, seen: SeenRequest): void {
  const parsed = parseName(seen.model ?? '')
  const model = parsed === undefined ? undefined : sim.inventory.find(parsed)
  if (model !== undefined) sim.scheduler.kill(model)
}

async function route(exchange: Exchange, found: Match): Promise<void> {
  const { sim, req, reply } = exchange
  const allow: Record<string, string> = found.kind === 'wrong-method' ? { Allow: found.allow } : {}
  if (found.kind === 'redirect' && found.to !== exchange.path && exchange.path.includes('//')) {
    return redirect(reply, req, found)
  }
  const verdict = gate(req, sim.settings)
  if (!verdict.pass) {
    await reply.send(verdict.status, {
      ...verdict.headers,
      ...(verdict.status === 204 ? allow : {}),
    })
    return
  }
  reply.preset(verdict.headers)
  switch (found.kind) {
    case 'route':
      return runRoute({ ...exchange, params: found.params }, found)
    case 'redirect':
      return redirect(reply, req, found)
    case 'wrong-method':
      return reply.send(405, { ...allow, 'Content-Type': 'text/plain' }, '405 method not allowed')
    case 'unknown':
      return reply.send(404, { 'Content-Type': 'text/plain' }, '404 page not found')
  }
}

async function runRoute(
  exchange: Exchange,
  found: Extract<Match, { kind: 'route' }>,
): Promise<void> {
  const { sim, seen } = exchange
  if (!found.inference) return found.handler(exchange)
  const model = seen.model ?? ''
  sim.record.enter(model)
  try {
    await found.handler(exchange)
  } finally {
    sim.record.leave(model)
  }
}

/** Go links to the new place for a GET and says nothing for the rest. */
async function redirect(
  reply: Reply,
  req: IncomingMessage,
  { status, to }: { status: 301 | 307; to: string },
): Promise<void> {
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    await reply.send(status, { Location: to })
    return
  }
  const words = status === 301 ? 'Moved Permanently' : 'Temporary Redirect'
  const headers = { 'Content-Type': 'text/html; charset=utf-8', Location: to }
  await reply.send(status, headers, `<a href="${to}">${words}</a>.\n\n`)
}
