// What stands before the routes: CORS, and on a loopback listener the Host check.

import { hostname } from 'node:os'
import { isIP } from 'node:net'
import type { IncomingMessage } from 'node:http'
import type { Headers } from './reply.ts'

export type GateVerdict =
  | { pass: true; headers: Headers }
  | { pass: false; status: 204 | 403; headers: Headers }

const ALLOW_HEADERS =
  'Authorization,Content-Type,User-Agent,Accept,X-Requested-With,Openai-Beta,X-Stainless-Arch,X-Stainless-Async,X-Stainless-Custom-Poll-Interval,X-Stainless-Helper-Method,X-Stainless-Lang,X-Stainless-Os,X-Stainless-Package-Version,X-Stainless-Poll-Helper,X-Stainless-Retry-Count,X-Stainless-Runtime,X-Stainless-Runtime-Version,X-Stainless-Timeout'

const DEFAULT_ORIGINS = [
  /^https?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::\d+)?$/u,
  /^(?:app|file|tauri|vscode-webview|vscode-file):\/\//u,
]

export function gate(
  req: IncomingMessage,
  settings: { host: string; origins: readonly string[] },
): GateVerdict {
  const verdict = cors(req, settings.origins)
  if (!verdict.pass || !isLoopback(settings.host)) return verdict
  const host = hostOf(req.headers.host ?? '')
  if (isIP(host) !== 0) {
    return isNear(host) ? verdict : { pass: false, status: 403, headers: verdict.headers }
  }
  if (!isNamedHost(host)) return { pass: false, status: 403, headers: verdict.headers }
  return req.method === 'OPTIONS' ? { pass: false, status: 204, headers: verdict.headers } : verdict
}

function cors(req: IncomingMessage, allowed: readonly string[]): GateVerdict {
  const { origin, host } = req.headers
  if (origin === undefined || origin === `http://${host}` || origin === `https://${host}`) {
    return { pass: true, headers: {} }
  }
  const all = allowed.includes('*')
  const known = all || allowed.includes(origin) || DEFAULT_ORIGINS.some((rule) => rule.test(origin))
  if (!known) return { pass: false, status: 403, headers: {} }
  const allow = { 'Access-Control-Allow-Origin': all ? '*' : origin }
  if (req.method !== 'OPTIONS')
    return { pass: true, headers: all ? allow : { ...allow, Vary: 'Origin' } }
  return {
    pass: false,
    status: 204,
    headers: {
      ...allow,
      'Access-Control-Allow-Headers': ALLOW_HEADERS,
      'Access-Control-Allow-Methods': 'GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS',
      'Access-Control-Max-Age': '43200',
      Vary: ['Origin', 'Access-Control-Request-Method', 'Access-Control-Request-Headers'],
    },
  }
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.')

function hostOf(header: string): string {
  if (header.startsWith('[')) return header.slice(1, header.indexOf(']'))
  return header.replace(/:\d*$/u, '')
}

/** Loopback, private or unspecified. */
function isNear(address: string): boolean {
  return /^(?:127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|0\.0\.0\.0$|::1?$|f[cd])/iu.test(
    address,
  )
}

function isNamedHost(host: string): boolean {
  const name = host.toLowerCase()
  if (name === '' || name === 'localhost' || name === hostname().toLowerCase()) return true
  return ['.localhost', '.local', '.internal'].some((suffix) => name.endsWith(suffix))
}
