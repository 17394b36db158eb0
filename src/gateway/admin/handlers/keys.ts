// Keys over the admin socket: made, listed and revoked. A key passes through here once, on its way
// to who asked for it; neither the audit log nor an event ever holds it.

import { publicKeyOfLine } from '../../access/credentials.ts'
import type { Clock } from '../../clock.ts'
import { durationMs } from '../../config/fields.ts'
import type { Config } from '../../config/schema.ts'
import { AdminError } from '../../contract/faults.ts'
import type { KeyRow } from '../../contract/schema/access.ts'
import type { ParsedInputOf } from '../../contract/schema.ts'
import type { EventRing } from '../../observe/event-ring.ts'
import { TooManyKeys } from '../../state/keys-state.ts'
import type { KeyDraft, KeysState, StoredKey } from '../../state/keys-state.ts'
import { plainTenant, sameName, tenantProblem } from '../../state/tenants-state.ts'
import type { Caller, Handlers } from '../handlers.ts'
import { isoOrNull, keyRow } from '../rows/access.ts'

export interface KeysHandlerDeps {
  clock: Clock
  keys: KeysState
  events: EventRing
  /** As they are in force. */
  tenants(): Config['tenants']
}

type Name = Extract<keyof Handlers, `keys.${string}`>

export function keysHandlers(deps: KeysHandlerDeps): Pick<Handlers, Name> {
  const { keys, clock } = deps
  return {
    'keys.list': () => keys.list().map((key) => keyRow(key, clock.now())),
    async 'keys.create'(input, caller) {
      const draft = draftOf(deps, input, caller)
      if (input.dry_run === true) return { id: '', key: '', ...grantOf(draft) }
      const { key, stored } = await keys.create(draft).catch(tellFull)
      noteMade(deps, caller, stored)
      return { id: stored.id, key, ...grantOf(stored) }
    },
    async 'keys.add_ed25519'(input, caller) {
      const draft = draftOf(deps, input, caller)
      const publicKey = publicKeyOfLine(input.public_key)
      if (publicKey === undefined) {
        const message = "this is no ed25519 public key; ollama's is in ~/.ollama/id_ed25519.pub"
        throw new AdminError({ code: 'invalid_input', message })
      }
      if (input.dry_run === true) return keyRow(trialOf(draft, publicKey), clock.now())
      const stored = await keys.addEd25519(publicKey, draft).catch(tellFull)
      noteMade(deps, caller, stored)
      return keyRow(stored, clock.now())
    },
    'keys.revoke': (input, caller) => revoke(deps, input, caller),
  }
}

function tellFull(error: unknown): never {
  if (!(error instanceof TooManyKeys)) throw error
  throw new AdminError({ code: 'refused', message: error.message }, { cause: error })
}

async function revoke(
  { keys, clock, events }: KeysHandlerDeps,
  input: ParsedInputOf<'keys.revoke'>,
  caller: Caller,
): Promise<KeyRow> {
  const known = keys.list().find(({ id }) => id === input.id)
  if (known === undefined) throw unknownKey(input.id)
  checkRevision(keys.revision, input.if_revision)
  if (input.dry_run === true) return keyRow(known, clock.now())
  const revoked = await keys.revoke(input.id)
  if (revoked === undefined) throw unknownKey(input.id)
  const { key, changed } = revoked
  const message = changed ? 'revoked' : 'revoked already'
  caller.note({
    changed,
    before: keyRow(known, clock.now()),
    after: keyRow(key, clock.now()),
    message,
  })
  if (changed) {
    const detail = `of tenant ${key.tenant}`
    events.add({
      severity: 'info',
      event: 'key.revoked',
      object: key.id,
      detail,
      actor: caller.actor,
    })
  }
  return keyRow(key, clock.now())
}

function noteMade({ clock, events }: KeysHandlerDeps, caller: Caller, stored: StoredKey): void {
  const after = keyRow(stored, clock.now())
  const message = `made ${stored.id} for tenant ${stored.tenant}`
  caller.note({ changed: true, before: null, after, message })
  const detail = `for tenant ${stored.tenant}, scope ${stored.scope}`
  events.add({
    severity: 'info',
    event: 'key.created',
    object: stored.id,
    detail,
    actor: caller.actor,
  })
}

type Asked = ParsedInputOf<'keys.create'>

function draftOf(
  { clock, keys, tenants }: KeysHandlerDeps,
  input: Asked,
  { actor }: Caller,
): KeyDraft {
  checkRevision(keys.revision, input.if_revision)
  const tenant = tenants().find(({ name }) => sameName(name, input.tenant))
  if (tenant === undefined) throw unknownTenant(input.tenant, tenants())
  const allowed = input.allowed_models ?? []
  const draft = {
    tenant: tenant.name,
    scope: input.scope ?? 'infer',
    expires_ms: expiryOf(input.expires, clock.now()),
    allowed_models: allowed.length === 0 ? ['*'] : allowed,
    denied_models: input.denied_models ?? [],
    trust_identity_headers: input.trust_identity_headers ?? false,
    actor,
  }
  const { allowed_models, denied_models } = draft
  const problem = tenantProblem({ ...plainTenant('default'), allowed_models, denied_models })
  if (problem !== undefined) throw new AdminError({ code: 'invalid_input', message: problem })
  return draft
}

/** A year is said in days. */
const LONGEST_MS = 3650 * 86_400_000

function expiryOf(text: string | undefined, now: number): number | null {
  if (text === undefined) return null
  const ms = durationMs(text)
  if (ms !== undefined && ms > 0 && ms <= LONGEST_MS) return now + ms
  const message = 'expires: write a duration, as in "12h" or "30d", of at most 3650 days'
  throw new AdminError({ code: 'invalid_input', message })
}

function grantOf({ tenant, scope, expires_ms }: KeyDraft | StoredKey) {
  return { tenant, scope, expires_at: isoOrNull(expires_ms) }
}

function trialOf({ actor, ...draft }: KeyDraft, verifier: string): StoredKey {
  const created_at = new Date(0).toISOString()
  return {
    ...draft,
    id: '',
    kind: 'ed25519',
    verifier,
    created_at,
    created_by: actor,
    revoked_at: null,
  }
}

export function checkRevision(revision: number, expected: number | undefined, by = ''): void {
  if (expected === undefined || expected === revision) return
  const who = by === '' ? '' : `, changed by ${by}`
  const message = `the document is at revision ${revision} and not ${expected} any more${who}. Look again, then repeat the change`
  throw new AdminError({ code: 'conflict', message, details: { revision } })
}

export function unknownTenant(name: string, tenants: Config['tenants']): AdminError {
  const known = tenants.map((tenant) => tenant.name).slice(0, 20)
  const message = `there is no tenant "${name}"; there are ${known.join(', ')}. \`ogw tenants set\` makes one`
  return new AdminError({ code: 'not_found', message })
}

function unknownKey(id: string): AdminError {
  return new AdminError({ code: 'not_found', message: `there is no key with the id "${id}"` })
}
