// What a request brings to say who sent it. Pure: nothing is looked up here. Everything in these
// values is a secret.

import type { IncomingHttpHeaders } from 'node:http'

/** What the ollama CLI sends with OLLAMA_AUTH: its public key, and its signature of the request. */
export interface SignedRequest {
  /** 32 bytes of an ed25519 key, in base64. */
  publicKey: string
  signature: Buffer
}

export interface Credentials {
  /** In the order in which they are tried: Bearer, x-api-key, the key in the path. */
  keys: readonly string[]
  signed: SignedRequest | undefined
}

/** Longer than any key. */
const MAX_KEY_LENGTH = 512
/** What clients send because they cannot send nothing; `ollama launch` sets it. */
const NO_KEY = new Set(['', 'ollama', 'undefined', 'null'])

export function credentialsOf(
  headers: IncomingHttpHeaders,
  pathKey: string | undefined,
): Credentials {
  const authorization = headers.authorization ?? ''
  const [, bearer] = /^bearer\s+(\S+)\s*$/i.exec(authorization.slice(0, MAX_HEADER_LENGTH)) ?? []
  const apiKey = headers['x-api-key']
  const keys = [bearer, typeof apiKey === 'string' ? apiKey.trim() : undefined, pathKey]
  return {
    keys: keys.filter((key) => key !== undefined && isKey(key)),
    signed: bearer === undefined ? readSigned(authorization) : undefined,
  }
}

/** A header is read no further than any credential is long. */
const MAX_HEADER_LENGTH = MAX_KEY_LENGTH + 16

function isKey(text: string | undefined): text is string {
  return text !== undefined && text.length <= MAX_KEY_LENGTH && !NO_KEY.has(text)
}

/** `<base64 of the key in ssh's wire form>:<base64 of the signature>`. */
const SIGNED = /^([A-Za-z0-9+/]{60,100}={0,2}):([A-Za-z0-9+/]{80,100}={0,2})$/
const SIGNATURE_BYTES = 64

function readSigned(authorization: string): SignedRequest | undefined {
  if (authorization.length > MAX_HEADER_LENGTH) return undefined
  const [, wire, text] = SIGNED.exec(authorization) ?? []
  if (wire === undefined || text === undefined) return undefined
  const publicKey = publicKeyOf(wire)
  const signature = Buffer.from(text, 'base64')
  if (publicKey === undefined || signature.length !== SIGNATURE_BYTES) return undefined
  return { publicKey, signature }
}

const KEY_TYPE = 'ssh-ed25519'
const PUBLIC_KEY_BYTES = 32

/** The 32 bytes in base64, out of ssh's wire form: two strings, each after its length. */
function publicKeyOf(wire: string): string | undefined {
  const bytes = Buffer.from(wire, 'base64')
  const head = Buffer.alloc(4 + KEY_TYPE.length + 4)
  head.writeUInt32BE(KEY_TYPE.length, 0)
  head.write(KEY_TYPE, 4)
  head.writeUInt32BE(PUBLIC_KEY_BYTES, 4 + KEY_TYPE.length)
  if (bytes.length !== head.length + PUBLIC_KEY_BYTES) return undefined
  if (!bytes.subarray(0, head.length).equals(head)) return undefined
  return bytes.subarray(head.length).toString('base64')
}

/** The public key of a file such as ~/.ollama/id_ed25519.pub: `ssh-ed25519 AAAA… comment`. */
export function publicKeyOfLine(line: string): string | undefined {
  const [type, wire] = line.trim().split(/\s+/)
  return type === KEY_TYPE && wire !== undefined ? publicKeyOf(wire) : undefined
}
