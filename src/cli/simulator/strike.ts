// Faults that take the place of a route's answer: nothing of the worker's own
// behaviour is seen by the peer.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { sleep, type SimClock } from './clock.ts'
import { bytesOf, type KindOf, type ScriptStep, type Strikes } from './faults.ts'
import type { SeenRequest } from './record.ts'
import { cutConnection, never, writeGoHead } from './reply.ts'

export interface Struck {
  req: IncomingMessage
  res: ServerResponse
  seen: SeenRequest
  signal: AbortSignal
  clock: SimClock
  body: Buffer
}

/** True where a fault has answered, or has made sure that nobody will. */
export async function strikeInstead(struck: Struck, strikes: Strikes): Promise<boolean> {
  const instead = choose(struck, strikes)
  if (instead === undefined) return false
  const slow = strikes.get('slow_headers')
  if (slow !== undefined) await sleep(struck.clock, slow.ms, struck.signal)
  await instead()
  return true
}

function choose(struck: Struck, strikes: Strikes): (() => Promise<void>) | undefined {
  const status = strikes.get('status')
  const script = strikes.get('script')
  const raw = strikes.get('raw')
  if (strikes.get('reset') !== undefined) return () => cutConnection(struck.res, 'rst')
  if (strikes.get('silent') !== undefined) return () => never(struck.signal)
  if (raw !== undefined) return () => playRaw(struck, raw.steps)
  if (script !== undefined) return () => playScript(struck, script)
  if (status !== undefined) return () => sendStatus(struck, status)
  if (strikes.get('echo') !== undefined) return () => sendWhole(struck, struck.body)
  if (strikes.get('empty') !== undefined) return () => sendWhole(struck, Buffer.alloc(0))
  return undefined
}

async function sendWhole({ req, res, seen }: Struck, body: Buffer): Promise<void> {
  const type = req.headers['content-type'] ?? 'application/json'
  seen.status = 200
  writeGoHead(req, res, { status: 200, headers: { 'Content-Type': type }, length: body.length })
  res.end(body)
}

/** Milliseconds between two pieces of a body that never ends. */
const ENDLESS_STEP_MS = 20

async function sendStatus(struck: Struck, fault: KindOf<'status'>): Promise<void> {
  const { req, res, seen, clock, signal } = struck
  const body = Buffer.from(fault.body ?? '')
  const type = fault.contentType ?? 'application/json; charset=utf-8'
  const headers = { 'Content-Type': type, ...fault.headers }
  seen.status = fault.status
  const length = fault.endless === true ? undefined : body.length + (fault.short ?? 0)
  writeGoHead(req, res, { status: fault.status, headers, length })
  if (fault.endless === true) {
    for (;;) {
      res.write(body.length === 0 ? ' ' : body)
      await sleep(clock, ENDLESS_STEP_MS, signal)
    }
  }
  if (fault.short === undefined) {
    res.end(body)
    return
  }
  res.write(body)
  await cutConnection(res, 'fin')
}

async function playScript(struck: Struck, fault: KindOf<'script'>): Promise<void> {
  const { req, res, seen, clock, signal } = struck
  const { chunks, gapMs = 0, framing = 'chunked', end = 'clean' } = fault
  const bytes = chunks.map(bytesOf)
  const total = bytes.reduce((sum, chunk) => sum + chunk.length, 0)
  const close: Record<string, string> = framing === 'close' ? { Connection: 'close' } : {}
  seen.status = fault.status ?? 200
  if (framing === 'close') {
    res.sendDate = true
    res.useChunkedEncodingByDefault = false
    res.writeHead(seen.status, { ...fault.headers, ...close })
  } else {
    const length = framing === 'content-length' ? total : undefined
    writeGoHead(req, res, { status: seen.status, headers: fault.headers ?? {}, length })
  }
  res.flushHeaders()
  for (const [index, chunk] of bytes.entries()) {
    if (index > 0) await sleep(clock, gapMs, signal)
    res.write(chunk)
    // Each chunk leaves in a write of its own, however small the pause.
    await new Promise((resolve) => setImmediate(resolve))
    seen.chunks += 1
  }
  if (end === 'clean') res.end()
  else if (end === 'hang') await never(signal)
  else await cutConnection(res, end)
}

async function playRaw(
  { res, seen, clock, signal }: Struck,
  steps: readonly ScriptStep[],
): Promise<void> {
  const { socket } = res
  if (socket === null) return
  for (const step of steps) {
    if ('send' in step) {
      await new Promise<void>((resolve) => void socket.write(bytesOf(step.send), () => resolve()))
      seen.chunks += 1
    } else if ('wait' in step) {
      await sleep(clock, step.wait, signal)
    } else if ('cut' in step) {
      await cutConnection(res, step.cut)
      return
    } else {
      await never(signal)
    }
  }
  // A script that says no more has said all: the peer learns it from the end of the connection.
  socket.end()
}
