// A worker for tests of size: cheap enough to be hundreds of workers and to take what is large.

import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LargeWorkerOptions {
  /** Model names of each worker; the nth is reached under `/wN`. */
  models: readonly (readonly string[])[]
  /** Lines of a streamed answer, and the pause between two in milliseconds. Default 10 and 50. */
  lines?: number
  pauseMs?: number
}

export interface LargeWorker extends AsyncDisposable {
  urls: string[]
  /** Bytes of request bodies, and how many inference requests ran at once at most. */
  received: number
  most: number
  running: number
  left: number
}

/** Answers small bodies with a stream, large ones (which it drops unread) with one line. */
export async function startLargeWorker({
  models,
  lines = 10,
  pauseMs = 50,
}: LargeWorkerOptions): Promise<LargeWorker> {
  const state = { received: 0, most: 0, running: 0, left: 0 }
  const tags = models.map((names) => JSON.stringify({ models: names.map((name) => rowOf(name)) }))
  const server = createServer((req, res) => {
    const [, index = '0', path = ''] = /^\/w(\d+)(\/.*)$/.exec(req.url ?? '') ?? []
    if (path === '/api/version') res.end('{"version":"0.33.0"}')
    else if (path === '/api/ps') res.end('{"models":[]}')
    else if (path === '/api/tags') res.end(tags[Number(index)])
    else if (path === '/api/show')
      res.end('{"capabilities":["completion"],"details":{},"model_info":{}}')
    else infer(req, res, state, { lines, pauseMs })
  })
  await new Promise<void>((resolve) =>
    server.listen({ port: 0, host: '127.0.0.1', backlog: 2_000 }, resolve),
  )
  const { port } = server.address() as AddressInfo
  return Object.assign(state, {
    urls: models.map((_, index) => `http://127.0.0.1:${port}/w${index}`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

export const streamLine = (at: number): string =>
  `{"model":"m0:1b","message":{"role":"assistant","content":"word ${at} "},"done":false}\n`
export const lastLine =
  '{"model":"m0:1b","message":{"role":"assistant","content":""},"done":true,"prompt_eval_count":3,"eval_count":4}\n'

type Pace = Required<Pick<LargeWorkerOptions, 'lines' | 'pauseMs'>>
type State = Pick<LargeWorker, 'received' | 'most' | 'running' | 'left'>

function infer(req: IncomingMessage, res: ServerResponse, state: State, pace: Pace): void {
  state.running += 1
  state.most = Math.max(state.most, state.running)
  res.once('close', () => {
    state.running -= 1
    if (!res.writableFinished) state.left += 1
  })
  const large = Number(req.headers['content-length']) > 1024 * 1024
  req.on('data', (chunk: Buffer) => (state.received += chunk.length))
  req.once('end', () => {
    res.writeHead(200, { 'content-type': 'application/x-ndjson' })
    if (large) res.end(lastLine)
    else stream(res, pace)
  })
}

function stream(res: ServerResponse, { lines, pauseMs }: Pace): void {
  let at = 0
  const next = (): void => {
    if (res.destroyed) return
    if (at === lines) {
      res.end(lastLine)
      return
    }
    res.write(streamLine(at))
    at += 1
    setTimeout(next, pauseMs)
  }
  next()
}

/** Equal names are equal models, as on a fleet that pulled them from one place. */
function rowOf(name: string) {
  const digest = createHash('sha256').update(name).digest('hex')
  const details = {
    format: 'gguf',
    family: 'qwen3',
    families: ['qwen3'],
    parameter_size: '8.2B',
    quantization_level: 'Q4_K_M',
  }
  return {
    name,
    model: name,
    modified_at: '2026-01-01T00:00:00Z',
    size: 5_000_000_000,
    digest,
    details,
    capabilities: ['completion'],
  }
}
