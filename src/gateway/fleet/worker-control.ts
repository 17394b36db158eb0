// Orders of the gateway to a worker: empty requests that load or unload a model, and what
// operators do with models on its disk. The gateway never sends a prompt.

import type { Clock } from '../clock.ts'
import { callWorker, currentTarget, describeFault } from './worker-api.ts'
import { errorMessage } from './worker-faults.ts'
import { openCall, WorkerAbsent } from './worker-stream.ts'
import type { OpenAnswer } from './worker-stream.ts'
import type { Worker } from './worker.ts'

export type ControlResult = { ok: true } | { ok: false; error: string }

/** An unload is answered at once; a worker that needs longer is not there. */
const UNLOAD_TIMEOUT_MS = 5_000
const MAX_ANSWER_BYTES = 65_536
/** Ollama's own client takes lines up to this. */
const MAX_LINE_BYTES = 8 * 1024 * 1024

/** The worker answered, and said no. */
export class WorkerRefusal extends Error {
  override readonly name = 'WorkerRefusal'
}

/** `model` in the worker's own spelling. A request that still runs there ends first. */
export async function unloadOn(
  clock: Clock,
  worker: Worker,
  model: string,
): Promise<ControlResult> {
  const target = currentTarget(worker)
  if (target === undefined) return { ok: false, error: 'the worker is down' }
  const answer = await callWorker(clock, target, {
    method: 'POST',
    path: '/api/generate',
    body: JSON.stringify({ model, keep_alive: 0 }),
    timeoutMs: UNLOAD_TIMEOUT_MS,
    maxBytes: MAX_ANSWER_BYTES,
  })
  if (!answer.ok) return answer
  return answer.status === 200 ? { ok: true } : { ok: false, error: `answered ${answer.status}` }
}

/** Waits as long as the load takes. Rejects with the worker's own words. */
export async function loadOn(
  worker: Worker,
  model: string,
  signal: AbortSignal,
  /** Of the route that loads it: a model that only embeds is refused by the other one. */
  path: '/api/generate' | '/api/embed' = '/api/generate',
): Promise<void> {
  await using call = await order(worker, { method: 'POST', path, model }, signal)
  await call.body.text()
}

/** Removes it from the worker's disk. Rejects with the worker's own words. */
export async function removeOn(worker: Worker, model: string, signal: AbortSignal): Promise<void> {
  await using call = await order(worker, { method: 'DELETE', path: '/api/delete', model }, signal)
  await call.body.text()
}

export interface PullStep {
  status: string
  digest: string | undefined
  completedBytes: number | undefined
  totalBytes: number | undefined
}

/** Each line of the worker's progress. Rejects where one says that the pull failed. */
export async function* pullOn(
  worker: Worker,
  model: string,
  signal: AbortSignal,
): AsyncGenerator<PullStep> {
  await using call = await order(worker, { method: 'POST', path: '/api/pull', model }, signal)
  let rest = ''
  for await (const chunk of call.body) {
    const lines = (rest + chunk.toString('utf8')).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE_BYTES) throw new Error('a line of the progress is too long')
    yield* lines.flatMap(stepOf)
  }
  yield* stepOf(rest)
}

function stepOf(line: string): PullStep[] {
  if (line.trim() === '') return []
  const told: unknown = JSON.parse(line)
  if (typeof told !== 'object' || told === null) return []
  if ('error' in told) throw new Error(String(told.error))
  const number = (value: unknown): number | undefined =>
    typeof value === 'number' ? value : undefined
  return [
    {
      status: 'status' in told ? String(told.status) : '',
      digest: 'digest' in told ? String(told.digest) : undefined,
      completedBytes: number('completed' in told ? told.completed : undefined),
      totalBytes: number('total' in told ? told.total : undefined),
    },
  ]
}

interface Order {
  method: 'POST' | 'DELETE'
  path: string
  model: string
}

/** A call that may last for hours; only its caller ends it. */
async function order(
  worker: Worker,
  { method, path, model }: Order,
  signal: AbortSignal,
): Promise<OpenAnswer> {
  const target = currentTarget(worker)
  if (target === undefined) throw new Error('the worker is down')
  const headers = { 'content-type': 'application/json' }
  const body = Buffer.from(JSON.stringify({ model }))
  const answer = await openCall(target, { method, path, headers, body }, signal)
  if (answer.status >= 400) throw await refusalOf(answer)
  return answer
}

async function refusalOf(answer: OpenAnswer): Promise<Error> {
  await using refused = answer
  try {
    const text = await refused.body.text()
    return new WorkerRefusal(errorMessage(text) ?? `the worker answered ${refused.status}`)
  } catch (cause) {
    return new WorkerAbsent(describeFault(cause), { cause })
  }
}
