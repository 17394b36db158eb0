// A gateway's admin socket that answers what a test says. As strict as the real one: inputs and
// answers are checked against the shapes of the contract.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AdminError, FAULT_STATUS, type FaultCode } from '../../src/gateway/contract/faults.ts'
import { type OperationName, operations } from '../../src/gateway/contract/operations.ts'
import { type Caller, type Handlers, shapes } from '../../src/gateway/contract/schema.ts'
import { ACTOR_HEADER, VERSION, VERSION_HEADER } from '../../src/gateway/contract/version.ts'

export interface Asked {
  operation: OperationName
  input: unknown
  actor: string
}

export interface FakeAdmin extends AsyncDisposable {
  readonly socket: string
  /** Every question so far, oldest first. */
  readonly asked: Asked[]
}

export interface FakeAdminOptions {
  /** Where to listen. Default: a folder of its own. */
  socket?: string
  /** What it says it is. Default: the version of this program. */
  version?: string
}

export async function startFakeAdmin(
  handlers: Partial<Handlers>,
  options: FakeAdminOptions = {},
): Promise<FakeAdmin> {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-admin-'))
  const socket = options.socket ?? path.join(folder, 'admin.sock')
  const asked: Asked[] = []
  const server = createServer((req, res) => {
    res.setHeader(VERSION_HEADER, options.version ?? VERSION)
    answer(handlers, asked, req, res).catch((error: unknown) => fail(res, error))
  })
  await new Promise<void>((resolve) => server.listen(socket, resolve))
  return {
    socket,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function answer(
  handlers: Partial<Handlers>,
  asked: Asked[],
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const url = new URL(req.url ?? '/', 'http://ogw')
  const name = (Object.keys(operations) as OperationName[]).find(
    (one) => operations[one].path === url.pathname && operations[one].method === req.method,
  )
  if (name === undefined) throw new AdminError({ code: 'not_found', message: 'no such operation' })
  const raw: unknown =
    req.method === 'GET' ? Object.fromEntries(url.searchParams) : JSON.parse(await bodyOf(req))
  const parsed = shapes[name].input.safeParse(raw)
  if (!parsed.success)
    throw new AdminError({ code: 'invalid_input', message: parsed.error.message })
  const actor = decodeURIComponent(String(req.headers[ACTOR_HEADER]))
  asked.push({ operation: name, input: parsed.data, actor })
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  await respond(handlers, name, parsed.data, { actor, signal: gone.signal }, res)
}

async function respond(
  handlers: Partial<Handlers>,
  name: OperationName,
  input: unknown,
  caller: Caller,
  res: ServerResponse,
): Promise<void> {
  const handler = handlers[name] as
    | ((input: unknown, caller: Caller) => AsyncIterable<unknown> | Promise<unknown>)
    | undefined
  if (handler === undefined)
    throw new AdminError({ code: 'internal', message: `${name} is not scripted` })
  const result = handler(input, caller)
  if (operations[name].stream) {
    for await (const line of result as AsyncIterable<unknown>) {
      res.write(`${JSON.stringify(shapes[name].output.parse(line))}\n`)
    }
    res.end()
    return
  }
  res.end(JSON.stringify(shapes[name].output.parse(await result)))
}

async function bodyOf(req: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of req) text += String(chunk)
  return text
}

function fail(res: ServerResponse, error: unknown): void {
  const known = error instanceof AdminError ? error : undefined
  const code = (known?.code ?? 'internal') as FaultCode
  const message = error instanceof Error ? error.message : String(error)
  const body = `${JSON.stringify({ error: { code, message, details: known?.details ?? {} } })}\n`
  if (res.headersSent) {
    res.end(body)
    return
  }
  res.writeHead(FAULT_STATUS[code]).end(body)
}
