// Whose request it is: the tenant that owns it, the actor inside the tenant that the queue is fair
// to, and the conversation it belongs to.

import type { IncomingHttpHeaders } from 'node:http'

export interface Identity {
  tenant: string
  /** Nobody vouches for it: it decides about order in the queue, never about credits. */
  actor: string
  /** The client's own session id, undefined where it sends none. */
  session: string | undefined
}

export const DEFAULT_TENANT = 'default'
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
): Identity {
  const session = sessionOf(headers)
  const user = shortened(facts.user)
  return { tenant: DEFAULT_TENANT, actor: user ?? session ?? ANONYMOUS, session }
}

function sessionOf(headers: IncomingHttpHeaders): string | undefined {
  for (const name of SESSION_HEADERS) {
    const value = headers[name]
    const id = shortened(typeof value === 'string' ? value : value?.[0])
    if (id !== undefined) return id
  }
  return undefined
}

function shortened(text: string | undefined): string | undefined {
  const trimmed = text?.trim().slice(0, MAX_ID_LENGTH)
  return trimmed === '' ? undefined : trimmed
}
