// Models on the disks of workers, managed through the gateway by a key with the scope `manage`:
// aimed at one worker or at all, obeying placement, outside of every slot. What is uploaded and
// what is told of progress passes through and is never collected.

import { PassThrough } from 'node:stream'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { GatewayError } from '../errors.ts'
import { WorkerAbsent } from '../fleet/worker-stream.ts'
import type { PassedAnswer, PassedCall } from '../fleet/worker-stream.ts'
import type { Worker } from '../fleet/worker.ts'
import { sendAnswer } from './answer.ts'
import { permitManagement, TARGET_HEADER, targetsOf } from './manage-target.ts'
import { parseObject } from './parse-body.ts'
import type { RequestContext } from './request-context.ts'
import type { ManagementRoute } from './routes.ts'

export interface ManagementDeps {
  workers(): readonly Worker[]
  readBytes(ctx: RequestContext): Promise<Buffer>
  send(worker: Worker, call: PassedCall, signal: AbortSignal): Promise<PassedAnswer>
  /** The lists of the worker may have changed. */
  refresh(worker: string): void
  /** For operators: who did what to which worker. */
  tell(name: ManagementRoute, fields: Readonly<Record<string, string>>): void
}

interface Managing {
  deps: ManagementDeps
  ctx: RequestContext
  targets: readonly Worker[]
  signal: AbortSignal
}

const RETRY_AFTER_S = 5

export async function handleManagement(
  deps: ManagementDeps,
  ctx: RequestContext,
  name: ManagementRoute,
): Promise<void> {
  const targets = targetsOf(deps.workers(), ctx.req.headers[TARGET_HEADER])
  const gone = new AbortController()
  ctx.res.once('close', () => gone.abort())
  const managing = { deps, ctx, targets, signal: gone.signal }
  if (ctx.req.method !== 'HEAD') tellAll(managing, name)
  try {
    if (name === 'blobs') await passBlob(managing)
    else await passOrder(managing, name)
  } catch (error) {
    if (!gone.signal.aborted) throw error // aborted: nobody is there to be told
  } finally {
    if (name !== 'blobs') for (const worker of targets) deps.refresh(worker.name)
  }
}

function tellAll({ deps, ctx, targets }: Managing, name: ManagementRoute): void {
  const { tenant, keyId = '' } = ctx.visitor
  for (const { name: worker } of targets) deps.tell(name, { worker, tenant, key: keyId })
}

/** One worker after the other: each tells its own progress, and the client sees one end. */
async function passOrder(managing: Managing, name: ManagementRoute): Promise<void> {
  const { deps, ctx, targets } = managing
  const bytes = await deps.readBytes(ctx)
  permitManagement(name, parseObject(bytes, ctx.path), { visitor: ctx.visitor, targets })
  for (const [index, worker] of targets.entries()) {
    await using answer = await send(managing, worker, bytes)
    const isLast = index === targets.length - 1
    // A delete from all is done once no worker has the model; not all of them had it.
    const skips = !isLast && (answer.status < 400 || (name === 'delete' && answer.status === 404))
    if (!skips) {
      await relay(ctx, worker, answer)
      return
    }
    if (!(await relayAllButEnd(ctx, worker, answer))) return
  }
}

async function send(
  { deps, ctx, signal }: Managing,
  worker: Worker,
  body: Buffer | Readable | null,
): Promise<PassedAnswer> {
  const { 'content-type': type, 'content-length': length } = ctx.req.headers
  const headers: Record<string, string> = { 'x-request-id': ctx.id }
  if (type !== undefined) headers['content-type'] = type
  if (length !== undefined && body !== null) headers['content-length'] = length
  try {
    return await deps.send(
      worker,
      { method: ctx.req.method ?? 'GET', path: ctx.path, headers, body },
      signal,
    )
  } catch (error) {
    if (!(error instanceof WorkerAbsent)) throw error
    const workers = [{ worker: worker.name, reason: error.message }]
    const fault = { code: 'no_worker_up', model: '', workers, retryAfterS: RETRY_AFTER_S } as const
    throw failed(ctx, new GatewayError(fault, { cause: error }))
  }
}

/** Inside progress that has begun, a failure is its last line. */
function failed({ res }: RequestContext, error: GatewayError): GatewayError {
  if (res.headersSent) res.end(`${JSON.stringify({ error: error.message })}\n`)
  return error
}

function headOf(ctx: RequestContext, worker: Worker, answer: PassedAnswer) {
  const { 'content-type': type, 'content-length': length } = answer.headers
  return {
    ...ctx.answerHeaders,
    'x-ogw-worker': encodeURIComponent(worker.name),
    ...(type !== undefined && { 'content-type': type }),
    ...(length !== undefined && { 'content-length': length }),
  }
}

async function relay(ctx: RequestContext, worker: Worker, answer: PassedAnswer): Promise<void> {
  const { res } = ctx
  if (!res.headersSent) res.writeHead(answer.status, headOf(ctx, worker, answer))
  if (answer.status >= 400 || ctx.req.method === 'HEAD') res.flushHeaders()
  await pipeline(answer.body, res)
}

const SUCCESS = /^\s*\{\s*"status"\s*:\s*"success"\s*\}\s*$/
const MAX_LINE = 8 * 1024 * 1024

/** False once the client has been told a failure: the workers after it are left alone. */
async function relayAllButEnd(
  ctx: RequestContext,
  worker: Worker,
  answer: PassedAnswer,
): Promise<boolean> {
  const { res } = ctx
  const streams = /ndjson/.test(answer.headers['content-type'] ?? '')
  let rest = ''
  for await (const chunk of answer.body) {
    if (!streams) continue // a whole answer: the last worker's is the one that is passed on
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE) return false
    if (!res.headersSent) {
      const { 'content-length': _length, ...head } = headOf(ctx, worker, answer)
      res.writeHead(200, head)
    }
    for (const line of lines) {
      if (!SUCCESS.test(line)) res.write(`${line}\n`)
      if (line.includes('"error"')) {
        res.end()
        return false
      }
    }
  }
  return true
}

const DIGEST_PATH = /^\/api\/blobs\/sha256(?:[:-]|%3a)[0-9a-f]{64}$/i

/** HEAD asks whether it is there; POST uploads it, to all targets at the pace of the slowest. */
async function passBlob(managing: Managing): Promise<void> {
  const { ctx, targets } = managing
  if (!DIGEST_PATH.test(ctx.path)) {
    throw new GatewayError({ code: 'invalid_request', detail: 'invalid digest format' })
  }
  const upload = ctx.req.method === 'POST'
  if (upload) ctx.acceptBody()
  const bodies = targets.map(() => (upload ? new PassThrough() : null))
  if (upload) {
    for (const body of bodies) if (body !== null) ctx.req.pipe(body)
    ctx.req.once('close', () => {
      if (!ctx.req.complete) for (const body of bodies) body?.destroy()
    })
  }
  const answers = await Promise.all(
    targets.map(async (worker, index) => {
      try {
        await using answer = await send(managing, worker, bodies[index] ?? null)
        const text: string[] = []
        for await (const chunk of answer.body) text.push(String(chunk))
        return { worker, status: answer.status, type: answer.headers['content-type'], text }
      } finally {
        bodies[index]?.destroy()
      }
    }),
  )
  const told = answers.find(({ status }) => status >= 400) ?? answers[0]
  if (told === undefined) return
  const headers = {
    'x-ogw-worker': encodeURIComponent(told.worker.name),
    ...(told.type !== undefined && { 'content-type': told.type }),
  }
  sendAnswer(ctx, { status: told.status, headers, body: told.text.join('') })
}
