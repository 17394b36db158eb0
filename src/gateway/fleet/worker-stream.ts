// One call to a worker on a connection of its own, outside of all slots, that may last for hours:
// only its caller ends it. Calls of clients that manage the models on a worker's disk are passed on
// by it as they are; the gateway's own orders are in worker-control.ts.

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { Client } from './undici.ts'
import { connectOptions, currentTarget, describeFault, splitAddress } from './worker-api.ts'
import type { Target } from './worker-api.ts'
import type { Worker } from './worker.ts'

export interface PassedCall {
  method: string
  /** With everything that stands in the path, percent-encoded. */
  path: string
  headers: Readonly<Record<string, string>>
  body: Buffer | Readable | null
}

export interface PassedAnswer extends AsyncDisposable {
  status: number
  headers: IncomingHttpHeaders
  body: Readable
}

/** A passed answer whose body is undici's own, which can be read whole. */
export interface OpenAnswer extends PassedAnswer {
  body: Dispatcher.ResponseData['body']
}

/** The worker could not be reached, or broke off. */
export class WorkerAbsent extends Error {
  override readonly name = 'WorkerAbsent'
}

const CONNECT_TIMEOUT_MS = 5_000

/** Resolves with the head of the answer. Rejects with WorkerAbsent. */
export async function passOn(
  worker: Worker,
  call: PassedCall,
  signal: AbortSignal,
): Promise<PassedAnswer> {
  const target = currentTarget(worker)
  if (target === undefined) throw new WorkerAbsent('it is down')
  return await openCall(target, call, signal)
}

/** Resolves with the head of the answer, whatever its status. Rejects with WorkerAbsent. */
export async function openCall(
  target: Target,
  { method, path, headers, body }: PassedCall,
  signal: AbortSignal,
): Promise<OpenAnswer> {
  const { origin, prefix } = splitAddress(target.url)
  const client = new Client(origin, {
    connect: connectOptions(target, CONNECT_TIMEOUT_MS),
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  })
  try {
    const answer = await client.request({
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a method of the route table
      method: method as 'POST',
      path: prefix + path,
      headers: { ...headers, ...target.config.headers },
      body,
      signal,
    })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: answer.body,
      [Symbol.asyncDispose]: () => client.destroy(),
    }
  } catch (error) {
    await client.destroy()
    throw new WorkerAbsent(describeFault(error), { cause: error })
  }
}
