// One call of the gateway's own to a worker: probes, tags, loaded models, show. Each is made on a
// connection of its own, so that a pooled socket can never answer for a worker that is gone, and
// goes straight to the worker: proxies of the environment are not for a fleet.

import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { isIP, Socket } from 'node:net'
import type { LookupFunction } from 'node:net'
import type { buildConnector as BuildConnector } from 'undici'
import type { Clock } from '../clock.ts'
import type { TlsConfig, WorkerConfig } from '../config/schema.ts'
import { buildConnector, Client } from './undici.ts'
import { decoded } from './decoded.ts'
import { currentAddress } from './worker.ts'
import type { Worker } from './worker.ts'

/** Every IP of a host name, resolved anew. */
export type Resolve = (hostname: string) => Promise<readonly string[]>

export const systemResolve: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address)

/** Where a call goes. `ips` undefined: the name is resolved by the connection itself. */
export interface Target {
  url: string
  ips: readonly string[] | undefined
  config: WorkerConfig
}

/** Where the worker's requests go now, at the IP that its last probe reached. */
export function currentTarget(worker: Worker | undefined): Target | undefined {
  const address = currentAddress(worker)
  if (worker === undefined || address === undefined) return undefined
  const { url, ip } = address
  return { url, ips: ip === undefined ? undefined : [ip], config: worker.config }
}

export interface Call {
  method: 'GET' | 'POST'
  path: string
  body?: string
  /** Milliseconds for connection, headers and body together. */
  timeoutMs: number
  /** A longer body counts as no answer. */
  maxBytes: number
  signal?: AbortSignal
}

export type WorkerAnswer =
  | { ok: true; status: number; contentType: string; body: Buffer; ip: string | undefined }
  | { ok: false; error: string }

/** Makes the call. No redirect is followed. A failure is a value: it is what a probe asks about. */
export async function callWorker(clock: Clock, target: Target, call: Call): Promise<WorkerAnswer> {
  const ended = new AbortController()
  let late = false
  const timer = clock.after(call.timeoutMs, () => {
    late = true
    ended.abort()
  })
  const giveUp = (): void => ended.abort()
  if (call.signal?.aborted === true) giveUp()
  // A signal made of several is kept with its listeners, and with their sockets, until it aborts:
  // this one listener is taken back, and those of the connection are on a signal that goes with it.
  call.signal?.addEventListener('abort', giveUp, { once: true })
  try {
    return await exchange(target, call, ended.signal)
  } catch (error) {
    if (late) return { ok: false, error: `no answer within ${Math.round(call.timeoutMs)} ms` }
    if (call.signal?.aborted === true) return { ok: false, error: 'the call was given up' }
    return { ok: false, error: describeFault(error) }
  } finally {
    timer.cancel()
    call.signal?.removeEventListener('abort', giveUp)
  }
}

async function exchange(target: Target, call: Call, signal: AbortSignal): Promise<WorkerAnswer> {
  signal.throwIfAborted()
  const { origin, prefix } = splitAddress(target.url)
  let ip: string | undefined
  const client = new Client(origin, {
    connect: connector(target, call.timeoutMs, (socket) => {
      signal.addEventListener('abort', () => socket.destroy(), { once: true })
      socket.once('connect', () => (ip = socket.remoteAddress))
    }),
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: call.maxBytes,
    pipelining: 1,
  })
  try {
    const answer = await client.request({
      method: call.method,
      path: prefix + call.path,
      headers: headersOf(target.config, call),
      body: call.body ?? null,
      reset: true,
      signal,
    })
    const sent = Buffer.from(await answer.body.arrayBuffer())
    const body = await decoded(sent, answer.headers['content-encoding'], call.maxBytes)
    const contentType = String(answer.headers['content-type'] ?? '')
    return { ok: true, status: answer.statusCode, contentType, body, ip }
  } finally {
    void client.destroy()
  }
}

function headersOf(config: WorkerConfig, call: Call): Record<string, string> {
  const own: Record<string, string> = { 'user-agent': 'ogw', accept: 'application/json' }
  if (call.body !== undefined) own['content-type'] = 'application/json'
  return { ...own, ...config.headers }
}

type Connector = ReturnType<typeof buildConnector>

/** Connects to the target's own IPs while Host and SNI stay those of its name. */
function connector(target: Target, timeoutMs: number, opened: (socket: Socket) => void): Connector {
  const connect = buildConnector(connectOptions(target, timeoutMs))
  return (options, callback) => {
    const socket: unknown = connect(options, callback)
    if (socket instanceof Socket) opened(socket)
  }
}

/** How connections to a worker are made, for one call as for its pool. */
export function connectOptions(target: Target, timeoutMs: number): BuildConnector.BuildOptions {
  return {
    timeout: timeoutMs,
    allowH2: false,
    ...tlsOptions(target.config.tls),
    ...(target.ips === undefined ? {} : { lookup: pinned(target.ips) }),
  }
}

/** Answers with the IPs that were resolved for this probe, whatever name is asked for. */
function pinned(ips: readonly string[]): LookupFunction {
  const addresses = ips.map((address) => ({ address, family: isIP(address) }))
  return (_hostname, options, callback) => {
    const [first] = addresses
    if (first === undefined) callback(new Error('the name has no address'), '')
    else if (options.all === true) callback(null, addresses)
    else callback(null, first.address, first.family)
  }
}

function tlsOptions({ ca_file, verify }: TlsConfig): { ca?: string; rejectUnauthorized: boolean } {
  const rejectUnauthorized = verify
  return ca_file === null
    ? { rejectUnauthorized }
    : { ca: readFileSync(ca_file, 'utf8'), rejectUnauthorized }
}

/** An address as undici wants it: the origin, and the path prefix that every path is put behind. */
export function splitAddress(url: string): { origin: string; prefix: string } {
  const { origin, pathname } = new URL(url)
  return { origin, prefix: pathname.replace(/\/+$/, '') }
}

const CLOSED = (code: string): string => `connection closed by the worker (${code})`
const TOO_LONG = (): string => 'the answer is too long'
// OpenSSL's own words are of Node's options, or of its source files.
const UNKNOWN_SIGNER = (code: string): string =>
  `nobody known has signed its certificate (${code}); name the authority in tls.ca_file`
const NO_TLS = (code: string): string =>
  `it does not speak TLS (${code}); its address may begin with http://`

const FAULTS: ReadonlyMap<string, (code: string) => string> = new Map([
  ['ECONNREFUSED', () => 'connection refused'],
  ['ENOTFOUND', () => 'host name not found'],
  ['ECONNRESET', CLOSED],
  ['UND_ERR_SOCKET', CLOSED],
  ['UND_ERR_RES_EXCEEDED_MAX_SIZE', TOO_LONG],
  ['ERR_BUFFER_TOO_LARGE', TOO_LONG],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNKNOWN_SIGNER],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNKNOWN_SIGNER],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNKNOWN_SIGNER],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNKNOWN_SIGNER],
  ['ERR_SSL_WRONG_VERSION_NUMBER', NO_TLS],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', NO_TLS],
])

/** For people: what went wrong between the gateway and a worker. Nothing is decided on it. */
export function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return FAULTS.get(code)?.(code) ?? (error.message === '' ? code : error.message)
}
