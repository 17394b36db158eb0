// The signed identity that Open WebUI sends instead of plain headers: a JWT with HS256. Pure: the
// time is an argument.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'

export type JwtVerdict = { ok: true; user: string } | { ok: false; why: string }

const Head = z.object({ alg: z.literal('HS256') })
const Claims = z.object({
  sub: z.string().min(1).max(200),
  exp: z.number(),
  iss: z.string().optional(),
})

const MAX_LENGTH = 8192
/** Between the clocks of Open WebUI and the gateway. */
const SKEW_S = 30

/** `now`: wall clock in milliseconds. Any other algorithm, `none` above all, is refused. */
export function readOpenWebuiJwt(token: string, secret: string, now: number): JwtVerdict {
  const [head, body, signature, ...more] = token.slice(0, MAX_LENGTH).split('.')
  if (head === undefined || body === undefined || signature === undefined || more.length > 0) {
    return { ok: false, why: 'is no JWT' }
  }
  if (!Head.safeParse(decoded(head)).success) return { ok: false, why: 'is not signed with HS256' }
  const expected = createHmac('sha256', secret).update(`${head}.${body}`).digest()
  const given = Buffer.from(signature, 'base64url')
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    return { ok: false, why: 'has a wrong signature' }
  }
  const claims = Claims.safeParse(decoded(body))
  if (!claims.success) return { ok: false, why: 'lacks sub or exp' }
  if (claims.data.exp + SKEW_S < now / 1000) return { ok: false, why: 'has expired' }
  return { ok: true, user: claims.data.sub }
}

function decoded(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  } catch {
    return undefined // no JSON: the schema refuses it
  }
}
