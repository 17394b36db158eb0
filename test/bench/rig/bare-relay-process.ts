// The yardstick: the least that node:http and undici can do for a relay. No limits, no errors told,
// no usage, no choice. With `framed`, each chunk is framed once and written in one piece.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Dispatcher, Pool } from 'undici'
import { serveCalls } from './helper.ts'

const [workerPort, mode] = process.argv.slice(2)
const pool = new Pool(`http://127.0.0.1:${workerPort}`, {
  connections: null,
  pipelining: 1,
  headersTimeout: 0,
  bodyTimeout: 0,
})

const server = createServer((req, res) => {
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => {
    const handler = mode === 'framed' ? framed(res) : plain(res)
    let controller: Dispatcher.DispatchController | undefined
    res.once('close', () => {
      if (!res.writableFinished) controller?.abort(new Error('the client left'))
    })
    pool.dispatch(
      {
        path: req.url!,
        method: req.method as Dispatcher.HttpMethod,
        headers: { 'content-type': 'application/json' },
        body: Buffer.concat(chunks),
      },
      { ...handler, onRequestStart: (one) => void (controller = one), onResponseError() {} },
    )
  })
})
server.keepAliveTimeout = 120_000

type Handler = Dispatcher.DispatchHandler

function plain(res: ServerResponse): Handler {
  return {
    onResponseStart: (_controller, status, headers) => void res.writeHead(status, clean(headers)),
    onResponseData: (_controller, chunk) => void res.write(chunk),
    onResponseEnd: () => void res.end(),
  }
}

function framed(res: ServerResponse): Handler {
  let socket: Socket | undefined
  return {
    onResponseStart(_controller, status, headers) {
      res.writeHead(status, clean(headers))
      if ('content-length' in headers) return
      res.flushHeaders()
      socket = res.socket!
    },
    onResponseData(_controller, chunk) {
      if (socket === undefined) res.write(chunk)
      else
        socket.write(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, CRLF]))
    },
    onResponseEnd: () => void res.end(),
  }
}

const CRLF = Buffer.from('\r\n')

/** The framing of a connection is not part of an answer. */
function clean(headers: Record<string, string | string[] | undefined>) {
  const { connection: _c, 'keep-alive': _k, 'transfer-encoding': _t, ...rest } = headers
  return rest
}

const functions = {
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 1024, resolve))
    return (server.address() as AddressInfo).port
  },
}

export type RelayFunctions = typeof functions

serveCalls(functions)
