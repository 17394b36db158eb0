// The ollama CLI's signature of a request: ed25519 over `METHOD,/path?ts=SECONDS`.

import { createPublicKey, verify } from 'node:crypto'
import type { SignedRequest } from './credentials.ts'

export interface SignedLine {
  method: string
  /** Without a key prefix, as the CLI signed it. */
  path: string
  query: string
  /** Wall clock in milliseconds. */
  now: number
}

/** How far the clocks of client and gateway may be apart, and how long a signature can be used. */
const MAX_SKEW_S = 300

/** Says why it does not count, or undefined where it does. */
export function signatureFault(
  { publicKey, signature }: SignedRequest,
  { method, path, query, now }: SignedLine,
): string | undefined {
  const ts = new URLSearchParams(query).get('ts') ?? ''
  if (!/^\d{1,12}$/.test(ts)) return 'the signature has no time (ts)'
  if (Math.abs(now / 1000 - Number(ts)) > MAX_SKEW_S) {
    return `the signature is from more than ${MAX_SKEW_S} s ago, or the clocks differ`
  }
  const jwk = {
    kty: 'OKP',
    crv: 'Ed25519',
    x: Buffer.from(publicKey, 'base64').toString('base64url'),
  }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const isGood = verify(null, Buffer.from(`${method},${path}?ts=${ts}`), key, signature)
  return isGood ? undefined : 'the signature does not fit the request'
}
