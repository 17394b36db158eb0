// The admin socket's HTTP side: finds the operation, checks the input, asks the handler, and says
// failures in one form. What an operation does is decided in handlers/.

import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { AdminError, FAULT_STATUS } from '../contract/faults.ts'
import type { FaultBody, FaultCode } from '../contract/faults.ts'
import { operations } from '../contract/operations.ts'
import type { OperationName } from '../contract/operations.ts'
import { ACTOR_HEADER, VERSION, VERSION_HEADER } from '../contract/version.ts'
import { createServer } from '../node-http.ts'
import { NotSaved } from '../state/document.ts'
import type { Caller, ChangeNote, Handlers } from './handlers.ts'
import { readInput } from './read-input.ts'
import { claimSocket } from './socket.ts'

export interface AuditRecord {
  actor: string
  operation: OperationName
  input: unknown
  outcome: 'changed' | 'unchanged' | 'refused'
  before: unknown
  after: unknown
  message: string
}

export interface AdminServerDeps {
  handlers: Handlers
  /** Notes one change. Never throws and never waits for a disk. */
  audit(record: AuditRecord): void
  /** A handler threw what is no AdminError. */
  onBug(operation: OperationName, error: unknown): void
}

export interface AdminServer {
  /** Ends streams and idle connections, lets running operations end, removes the socket. */
  stop(): Promise<void>
}

/** Consoles and scripts of one box; above it something leaks connections. */
const MAX_CONNECTIONS = 512
/** A console over ssh keeps its connection for the next key press. */
const KEEP_ALIVE_MS = 60_000
const HEAD_MS = 10_000
/** A request with its body, 16 MiB over a slow ssh; what an answer takes is no part of it. */
const REQUEST_MS = 120_000
/** Node looks for late ones each 30 s unless it is told. */
const LATE_CHECK_MS = 2_000
/** How long a stop waits for operations that still run before it cuts them. */
const STOP_MS = 5_000

/** Listens on the socket. Throws StartError where the path cannot be used. */
export async function startAdminServer(
  deps: AdminServerDeps,
  socket: { path: string; mode: number },
): Promise<AdminServer> {
  const stopping = new AbortController()
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEAD_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: LATE_CHECK_MS,
    },
    (req, res) => void answer({ deps, stopping: stopping.signal }, req, res),
  )
  server.maxConnections = MAX_CONNECTIONS
  const claimed = await claimSocket(server, socket)
  return {
    async stop() {
      stopping.abort()
      claimed.release()
      await closed(server)
    },
  }
}

async function closed(server: Server): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), STOP_MS)
  await new Promise((resolve) => {
    server.close(resolve)
    server.closeIdleConnections()
  })
  clearTimeout(cut)
}

interface Context {
  deps: AdminServerDeps
  stopping: AbortSignal
}

/** Never rejects: whatever goes wrong is an answer, and a bug is one with status 500. */
async function answer(
  { deps, stopping }: Context,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  res.setHeader(VERSION_HEADER, VERSION)
  const signal = AbortSignal.any([gone.signal, stopping])
  const url = new URL(req.url ?? '/', 'http://ogw')
  const name = ROUTES.get(`${req.method} ${url.pathname}`)
  try {
    if (name === undefined) throw unknownOperation(req.method ?? '', url.pathname)
    const input = await readInput(name, url.searchParams, req)
    await run({ deps, name, input, res }, actorOf(req), signal)
  } catch (error) {
    if (!(error instanceof AdminError) && name !== undefined) deps.onBug(name, error)
    sayFault(res, error)
  }
}

const ROUTES: ReadonlyMap<string, OperationName> = new Map(
  Object.entries(operations).map(([name, { method, path }]) => [
    `${method} ${path}`,
    name as OperationName, // Object.entries widens the keys of the table
  ]),
)

interface Run {
  deps: AdminServerDeps
  name: OperationName
  input: unknown
  res: ServerResponse
}

async function run(what: Run, actor: string, signal: AbortSignal): Promise<void> {
  const { deps, name, input, res } = what
  const notes: ChangeNote[] = []
  const caller: Caller = { actor, signal, note: (change) => void notes.push(change) }
  // The table pairs each input with its handler; TypeScript cannot follow that through a union.
  const handler = deps.handlers[name] as (input: unknown, caller: Caller) => unknown
  try {
    const result = handler(input, caller)
    if (operations[name].stream) await sendLines(res, result as AsyncIterable<unknown>, signal)
    else sendJson(res, 200, await result)
  } catch (error) {
    const fault = notSaved(error)
    if (operations[name].changes && fault instanceof AdminError) noteRefusal(what, actor, fault)
    throw fault
  } finally {
    for (const { changed, ...note } of notes) {
      const outcome = changed ? 'changed' : 'unchanged'
      deps.audit({ actor, operation: name, input, outcome, ...note })
    }
  }
}

/** State does not know the contract: what it throws gets its code here. */
function notSaved(error: unknown): unknown {
  if (!(error instanceof NotSaved)) return error
  const { message, file } = error
  return new AdminError({ code: 'not_saved', message, details: { file } }, { cause: error })
}

function noteRefusal({ deps, name, input }: Run, actor: string, error: AdminError): void {
  if (isDryRun(input)) return
  const { message } = error
  deps.audit({
    actor,
    operation: name,
    input,
    outcome: 'refused',
    before: null,
    after: null,
    message,
  })
}

function isDryRun(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'dry_run' in input && input.dry_run === true
}

/** The next line is asked for only when the reader took the one before: it is then the newest. */
async function sendLines(
  res: ServerResponse,
  lines: AsyncIterable<unknown>,
  signal: AbortSignal,
): Promise<void> {
  res.writeHead(200, { 'content-type': 'application/x-ndjson' })
  res.flushHeaders()
  for await (const line of lines) {
    if (signal.aborted) break
    if (!res.write(`${JSON.stringify(line)}\n`)) await drained(res, signal)
  }
  res.end()
}

async function drained(res: ServerResponse, signal: AbortSignal): Promise<void> {
  try {
    await once(res, 'drain', { signal })
  } catch (error) {
    if (!signal.aborted) throw error // aborted: the reader left, and the loop ends
  }
}

function sendJson(res: ServerResponse, status: number, value: unknown): void {
  const body = JSON.stringify(value)
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  })
  res.end(body)
}

/** Once a stream has begun, its last line tells what a status can no longer tell. */
function sayFault(res: ServerResponse, error: unknown): void {
  const fault = faultBody(error)
  if (res.destroyed || res.writableEnded) return
  if (res.headersSent) {
    res.end(`${JSON.stringify(fault)}\n`)
    return
  }
  // A body that was not read to its end is not read any more.
  res.setHeader('connection', 'close')
  sendJson(res, FAULT_STATUS[fault.error.code], fault)
}

function faultBody(error: unknown): FaultBody {
  if (error instanceof AdminError && isGatewayCode(error.code)) {
    return { error: { code: error.code, message: error.message, details: error.details } }
  }
  const message = 'the gateway has a bug here; its log says more'
  return { error: { code: 'internal', message, details: {} } }
}

function isGatewayCode(code: string): code is FaultCode {
  return code in FAULT_STATUS
}

function unknownOperation(method: string, path: string): AdminError {
  const message = `this gateway (version ${VERSION}) knows no operation "${method} ${path}"; the console may be newer than it`
  return new AdminError({ code: 'not_found', message })
}

/** Longer than any name; the claim ends up in files. */
const MAX_ACTOR_LENGTH = 200

function actorOf(req: IncomingMessage): string {
  const claim = req.headers[ACTOR_HEADER]
  if (typeof claim !== 'string') return 'unknown'
  try {
    return printable(decodeURIComponent(claim))
  } catch {
    return printable(claim) // not percent-encoded: taken as it stands
  }
}

function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '').slice(0, MAX_ACTOR_LENGTH) || 'unknown'
}
