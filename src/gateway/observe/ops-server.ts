// The listener for machines that watch the gateway: /livez, /readyz, /metrics, /telemetry. It has no keys and
// no content, and stays open while the gateway drains, so that a drain can be watched.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listen } from '../listen.ts'
import { createServer } from '../node-http.ts'
import type { Metrics } from './metrics.ts'

export interface OpsDeps {
  /** Why no traffic should be sent here; undefined = ready. */
  notReady(): string | undefined
  metrics: Pick<Metrics, 'contentType' | 'render'>
  /** Figures of this machine as JSON, for another ogw whose worker is here. */
  telemetry(): unknown
}

export interface OpsServer {
  listen(address: { host: string; port: number }): Promise<AddressInfo>
  /** Called when the process is about to exit. */
  close(): Promise<void>
}

interface Page {
  status: number
  type: string
  text: string
}

const TEXT = 'text/plain; charset=utf-8'
const HEAD_TIMEOUT_MS = 10_000
/** Node looks for late ones each 30 s unless it is told: they would hold all connections so long. */
const LATE_CHECK_MS = 2_000
const MAX_CONNECTIONS = 100

export function createOpsServer(deps: OpsDeps): OpsServer {
  const server = createServer(
    {
      headersTimeout: HEAD_TIMEOUT_MS,
      requestTimeout: HEAD_TIMEOUT_MS,
      connectionsCheckingInterval: LATE_CHECK_MS,
    },
    (req, res) => void answer(deps, req, res),
  )
  server.maxConnections = MAX_CONNECTIONS

  return {
    listen: (address) => listen(server, address),
    close() {
      const { promise, resolve } = Promise.withResolvers<void>()
      server.close(() => resolve())
      server.closeAllConnections()
      return promise
    },
  }
}

async function answer(deps: OpsDeps, req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    res.writeHead(405, { allow: 'HEAD, GET', 'content-length': 0 }).end()
    return
  }
  const { status, type, text } = await pageOf(deps, (req.url ?? '/').split('?', 1)[0] ?? '/')
  const length = Buffer.byteLength(text)
  res.writeHead(status, { 'content-type': type, 'content-length': length }).end(text)
}

async function pageOf(deps: OpsDeps, path: string): Promise<Page> {
  switch (path) {
    case '/livez':
      return { status: 200, type: TEXT, text: 'ok\n' }
    case '/readyz': {
      const why = deps.notReady()
      return { status: why === undefined ? 200 : 503, type: TEXT, text: `${why ?? 'ready'}\n` }
    }
    case '/metrics':
      return metricsPage(deps.metrics)
    case '/telemetry':
      return { status: 200, type: 'application/json', text: JSON.stringify(deps.telemetry()) }
    default:
      return { status: 404, type: TEXT, text: '404 page not found\n' }
  }
}

async function metricsPage(metrics: OpsDeps['metrics']): Promise<Page> {
  try {
    return { status: 200, type: metrics.contentType, text: await metrics.render() }
  } catch {
    // A gauge that cannot be read must not end the process; the scraper sees and reports the 500.
    return { status: 500, type: TEXT, text: 'metrics could not be read\n' }
  }
}
