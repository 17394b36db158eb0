// Reads what people write as the address of an Ollama server or as an address to listen on.
// Pure: nothing is resolved and nothing is connected.

/** Ollama's own port. It is assumed only where neither a scheme nor a port is written. */
const OLLAMA_PORT = 11434

export interface WorkerAddress {
  /** Scheme, host, port and path prefix, without credentials and without a trailing slash. */
  url: string
  /** The Basic header that `user:password@` in the URL stands for. */
  authorization: string | undefined
}

/** A worker's address, or the sentence that says what is wrong with it. */
export type ReadAddress = ({ ok: true } & WorkerAddress) | { ok: false; why: string }

/**
 * `http://host` keeps HTTP's port 80, as every other program reads it; only `host` alone means
 * Ollama's 11434. A path prefix is kept, for workers behind a reverse proxy.
 */
export function readWorkerAddress(text: string): ReadAddress {
  const bad = shapeFault(text)
  if (bad !== undefined) return { ok: false, why: bad }
  const url = URL.parse(text.includes('://') ? text : `http://${withOllamaPort(text)}`)
  if (url === null || url.hostname === '') return { ok: false, why: notAUrl }
  if (url.port === '0') return { ok: false, why: 'port 0 cannot be connected to' }
  const authorization = basicHeader(url)
  if (authorization === null) {
    return { ok: false, why: 'user or password is not percent-encoded properly' }
  }
  const prefix = url.pathname.replaceAll(/\/{2,}/g, '/').replace(/\/$/, '')
  return { ok: true, url: `${url.protocol}//${url.host}${prefix}`, authorization }
}

const notAUrl = 'not an address; write it as in "http://10.0.0.7:11434"'

function shapeFault(text: string): string | undefined {
  if (/[\s\\]/.test(text) || text === '') return notAUrl
  if (text.includes('://') ? !/^https?:\/\//i.test(text) : /^https?:/i.test(text)) {
    return 'only http:// and https:// can be spoken to a worker'
  }
  if (/[?#]/.test(text)) return 'an address has no query and no fragment'
  return undefined
}

/** `[::1]` and `w1/ollama` get the port, `w1:1` and `[::1]:1` have one. */
function withOllamaPort(text: string): string {
  const slash = text.indexOf('/')
  const authority = slash === -1 ? text : text.slice(0, slash)
  const rest = slash === -1 ? '' : text.slice(slash)
  return /:\d+$/.test(authority) ? text : `${authority}:${OLLAMA_PORT}${rest}`
}

/** Undefined without credentials, null where they cannot be decoded. */
function basicHeader(url: URL): string | undefined | null {
  if (url.username === '' && url.password === '') return undefined
  try {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    return `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`
  } catch {
    return null // the only thing that throws here is a stray percent sign
  }
}

export interface ListenAddress {
  /** Without the brackets of IPv6, as `server.listen` wants it. */
  host: string
  /** 0 lets the system choose. */
  port: number
}

/** `host:port` or `[ipv6]:port`; undefined for anything else. */
export function readListenAddress(text: string): ListenAddress | undefined {
  const { six, name, port } =
    /^(?:\[(?<six>[0-9a-f:.]+)\]|(?<name>[^\s:/[\]]+)):(?<port>\d{1,5})$/i.exec(text)?.groups ?? {}
  const host = six ?? name
  if (host === undefined || Number(port) > 65_535) return undefined
  return { host, port: Number(port) }
}

/** True for an address that only this machine can reach. */
export function isLoopback(host: string): boolean {
  const plain = host.toLowerCase().replace(/^\[|\]$/g, '')
  return plain === 'localhost' || plain === '::1' || /^127(?:\.\d{1,3}){3}$/.test(plain)
}
