// The real admin socket, whose operations answer what a test says. Answers are checked against the
// shapes of the contract, so that a script cannot say what no gateway would.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Caller, Handlers } from '../../src/gateway/admin/handlers.ts'
import { startAdminServer } from '../../src/gateway/admin/server.ts'
import { AdminError } from '../../src/gateway/contract/faults.ts'
import { type OperationName, operations } from '../../src/gateway/contract/operations.ts'
import { shapes } from '../../src/gateway/contract/schema.ts'

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

/** Listens in a folder of its own, or where a test says, as to come back at the same place. */
export async function startFakeAdmin(
  scripted: Partial<Handlers>,
  place?: string,
): Promise<FakeAdmin> {
  const folder = mkdtempSync(path.join(tmpdir(), 'ogw-admin-'))
  const socket = place ?? path.join(folder, 'admin.sock')
  const asked: Asked[] = []
  const bugs: unknown[] = []
  const names = Object.keys(operations) as OperationName[]
  const handlers = Object.fromEntries(
    names.map((name) => [name, scriptedHandler(name, scripted[name], asked)]),
  ) as unknown as Handlers
  const server = await startAdminServer(
    { handlers, audit: () => {}, onBug: (_name, error) => void bugs.push(error) },
    { path: socket, mode: 0o600 },
  )
  return {
    socket,
    asked,
    async [Symbol.asyncDispose]() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
      if (bugs.length > 0) throw new AggregateError(bugs, 'a scripted operation is wrong')
    },
  }
}

type AnyHandler = (input: unknown, caller: Caller) => unknown

function scriptedHandler(name: OperationName, handler: unknown, asked: Asked[]): AnyHandler {
  const answer = handler as AnyHandler | undefined
  const ask: AnyHandler = (input, caller) => {
    asked.push({ operation: name, input, actor: caller.actor })
    if (answer === undefined) {
      throw new AdminError({ code: 'failed', message: `${name} is not scripted` })
    }
    return answer(input, caller)
  }
  if (!operations[name].stream) {
    return async (input, caller) => shapes[name].output.parse(await ask(input, caller))
  }
  return async function* (input, caller) {
    for await (const line of ask(input, caller) as AsyncIterable<unknown>) {
      yield shapes[name].output.parse(line)
    }
  }
}
