// A worker that costs little: any number of listeners, answers made once. It says what the model's
// name asks for, and counts the chunks it has written.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { serveCalls } from './helper.ts'

/** Milliseconds between two chunks of a stream. */
const CHUNK_EVERY_MS = 10
/** Streams are spread over the interval, as those of real workers are. */
const PHASES = 10

const STAMP = '"created_at":"2026-05-01T12:00:00.123456789Z"'
const LINE = `{"model":"stream:latest",${STAMP},"message":{"role":"assistant","content":" and so it goes on"},"done":false}\n`
const FRAME = Buffer.from(`${Buffer.byteLength(LINE).toString(16)}\r\n${LINE}\r\n`)
const COUNTS = '"prompt_eval_count":26,"prompt_eval_duration":130079000,"eval_count":20'
const LAST = `{"model":"one:latest",${STAMP},"message":{"role":"assistant","content":"The sky is blue because of Rayleigh scattering."},"done":true,"done_reason":"stop","total_duration":4883583458,"load_duration":1334875,${COUNTS},"eval_duration":4535599000}`

const streams: Set<Socket>[] = Array.from({ length: PHASES }, () => new Set<Socket>())
let begun = 0
let sent = 0
let tags = ''

function answer(req: IncomingMessage, res: ServerResponse, body: string): void {
  if (req.method === 'POST' && body.includes('"stream:latest"')) return stream(res)
  if (req.method === 'POST' && body.includes('"first:latest"')) return one(res)
  if (req.url === '/api/version') return json(res, '{"version":"0.30.0"}')
  if (req.url === '/api/tags') return json(res, tags)
  if (req.url === '/api/ps') return json(res, '{"models":[]}')
  if (req.url === '/api/show') return json(res, SHOW)
  return json(res, LAST)
}

const SHOW =
  '{"details":{"family":"qwen3","parameter_size":"8B"},"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960},"capabilities":["completion","tools"]}'

function json(res: ServerResponse, text: string): void {
  res
    .writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    })
    .end(text)
}

/** One chunk at once and the rest by the clock, until the peer leaves. */
function stream(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/x-ndjson' }).flushHeaders()
  const phase = streams[begun % PHASES]!
  const socket = res.socket!
  begun += 1
  phase.add(socket)
  socket.once('close', () => phase.delete(socket))
  send(socket)
}

/** A stream of one chunk. */
function one(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/x-ndjson' }).end(`${LAST}\n`)
}

function send(socket: Socket): void {
  if (socket.writableNeedDrain || socket.destroyed) return
  socket.write(FRAME)
  sent += 1
}

let paceMs = CHUNK_EVERY_MS
let done = 0
let since = performance.now()

// Phases that are late are made up for, but no more than one round of them.
setInterval(() => {
  const due = Math.floor(((performance.now() - since) * PHASES) / paceMs)
  if (due - done > PHASES) done = due - PHASES
  for (; done < due; done += 1) for (const socket of streams[done % PHASES]!) send(socket)
}, 1)

const functions = {
  /** Opens listeners and answers their ports. `models` is the body of /api/tags. */
  async listen(options: { count: number; models: string }): Promise<number[]> {
    tags = options.models
    return await Promise.all(Array.from({ length: options.count }, listen))
  },
  sent: (): number => sent,
  pace(ms: number): void {
    paceMs = ms
    since = performance.now()
    done = 0
  },
}

export type WorkerFunctions = typeof functions

async function listen(): Promise<number> {
  const server = createServer((req, res) => {
    let body = ''
    req.setEncoding('latin1').on('data', (text: string) => (body += text))
    req.on('end', () => answer(req, res, body))
  })
  server.keepAliveTimeout = 120_000
  server.on('connection', (socket) => socket.on('error', () => socket.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 1024, resolve))
  return (server.address() as AddressInfo).port
}

serveCalls(functions)
