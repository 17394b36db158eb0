// Whose request it is: the tenant that owns it, the actor inside the tenant that the queue is fair
// to, who is charged for it, and the conversation it belongs to. Pure: the time is an argument.

import type { IncomingHttpHeaders } from 'node:http'
import { readOpenWebuiJwt } from './openwebui-jwt.ts'
import type { Visitor } from './visitor.ts'

export interface Identity {
  tenant: string
  /** Decides about order in the queue. */
  actor: string
  /**
   * Who is charged within the tenant: a user that Open WebUI vouches for, else the key. Undefined
   * where nobody vouches for anybody.
   */
  account: string | undefined
  /** The client's own session id, undefined where it sends none. */
  session: string | undefined
  /** Work that nobody waits for, as its client says. */
  background: boolean
  /** For the client: why it was not believed. */
  warnings: readonly string[]
}

export interface IdentityRules {
  /** Secret of Open WebUI's signature; null = none is checked. */
  jwtSecret: string | null
  /** Wall clock in milliseconds. */
  now: number
}

const ANONYMOUS = 'anonymous'

/** Claude Code, Codex (two spellings), Open WebUI. */
const SESSION_HEADERS = [
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'x-openwebui-chat-id',
] as const

/** Longer ids are cut: they are compared, shown and kept, never parsed. */
const MAX_ID_LENGTH = 200

/** `user` is the user field of the body; it names the actor before any session does. */
export function identityOf(
  headers: IncomingHttpHeaders,
  facts: { user: string | undefined },
  visitor: Visitor,
  rules: IdentityRules,
): Identity {
  const session = sessionOf(headers)
  const vouched = vouchedUser(headers, visitor, rules)
  const base = {
    tenant: visitor.tenant,
    session,
    background: headerOf(headers, 'x-openwebui-task') !== undefined,
  }
  if (vouched.kind === 'user') {
    const { user } = vouched
    return { ...base, actor: user, account: user, warnings: [] }
  }
  const { keyId } = visitor
  if (vouched.kind === 'refused') {
    const warnings = [`x-openwebui-user-jwt ${vouched.why}; the user is not known`]
    return { ...base, actor: keyId ?? ANONYMOUS, account: keyId, warnings }
  }
  const actor = shortened(facts.user) ?? session ?? keyId ?? ANONYMOUS
  return { ...base, actor, account: keyId, warnings: [] }
}

type Vouched =
  | { kind: 'user'; user: string }
  | { kind: 'refused'; why: string }
  | { kind: 'nobody' }

/** A signature speaks for itself; plain headers count only from whom they are believed. */
function vouchedUser(
  headers: IncomingHttpHeaders,
  { trustsHeaders }: Visitor,
  { jwtSecret, now }: IdentityRules,
): Vouched {
  const token = headers['x-openwebui-user-jwt']
  if (jwtSecret !== null && typeof token === 'string') {
    const read = readOpenWebuiJwt(token, jwtSecret, now)
    return read.ok ? { kind: 'user', user: read.user } : { kind: 'refused', why: read.why }
  }
  if (!trustsHeaders) return { kind: 'nobody' }
  const user =
    headerOf(headers, 'x-openwebui-user-id') ?? headerOf(headers, 'x-openwebui-user-email')
  return user === undefined ? { kind: 'nobody' } : { kind: 'user', user }
}

function sessionOf(headers: IncomingHttpHeaders): string | undefined {
  for (const name of SESSION_HEADERS) {
    const id = headerOf(headers, name)
    if (id !== undefined) return id
  }
  return undefined
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return shortened(typeof value === 'string' ? value : value?.[0])
}

function shortened(text: string | undefined): string | undefined {
  const trimmed = text?.trim().slice(0, MAX_ID_LENGTH)
  return trimmed === '' ? undefined : trimmed
}
