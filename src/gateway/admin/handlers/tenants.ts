// Tenants over the admin socket: what is in force, and settings at run time over the config's.

import { durationMs } from '../../config/fields.ts'
import type { Config } from '../../config/schema.ts'
import { AdminError } from '../../contract/faults.ts'
import type { TenantRow } from '../../contract/schema/access.ts'
import type { ParsedInputOf } from '../../contract/schema.ts'
import type { EventRing } from '../../observe/event-ring.ts'
import { plainTenant, sameName, tenantProblem } from '../../state/tenants-state.ts'
import type { TenantEdit, TenantSettings, TenantsState } from '../../state/tenants-state.ts'
import type { Caller, Handlers } from '../handlers.ts'
import type { TenantBoard } from '../tenant-board.ts'
import { checkRevision, unknownTenant } from './keys.ts'

export interface TenantsHandlerDeps {
  state: TenantsState
  board: TenantBoard
  events: EventRing
  /** As they are in force. */
  tenants(): Config['tenants']
}

type Name = Extract<keyof Handlers, `tenants.${string}`>

export function tenantsHandlers(deps: TenantsHandlerDeps): Pick<Handlers, Name> {
  return {
    'tenants.list': () => deps.tenants().map((tenant) => deps.board.row(tenant)),
    'tenants.show': ({ tenant }) => deps.board.row(tenantNamed(deps.tenants(), tenant)),
    'tenants.use': ({ tenant, limit }) =>
      deps.board.use(tenantNamed(deps.tenants(), tenant), limit),
    'tenants.set': (input, caller) => set(deps, input, caller),
  }
}

export function tenantNamed(tenants: Config['tenants'], name: string): TenantSettings {
  const found = tenants.find((tenant) => sameName(tenant.name, name))
  if (found === undefined) throw unknownTenant(name, tenants)
  return found
}

async function set(
  deps: TenantsHandlerDeps,
  input: ParsedInputOf<'tenants.set'>,
  caller: Caller,
): Promise<TenantRow> {
  const { state, events, board } = deps
  const known = deps.tenants().find(({ name }) => sameName(name, input.tenant))
  const before = known ?? made(input.tenant)
  const edit = editOf(input)
  const unset = input.unset ?? []
  const plain = Object.entries(board.withoutOverride(before))
  const reset = Object.fromEntries(plain.filter(([field]) => unset.some((one) => one === field)))
  const after: TenantSettings = { ...before, ...reset, ...edit }
  const problem = tenantProblem(after)
  if (problem !== undefined) throw new AdminError({ code: 'invalid_input', message: problem })
  const check = (): void => checkRevision(state.revision, input.if_revision, state.lastActor)
  check()
  if (input.dry_run === true) return board.row(after)
  await state.set(before.name, edit, { actor: caller.actor, check, unset })
  const row = board.row(tenantNamed(deps.tenants(), before.name))
  const message = known === undefined ? 'made' : changesInWords(Object.keys(edit), unset)
  const changed = known === undefined || Object.keys(edit).length + unset.length > 0
  const shown = known === undefined ? null : board.row(known)
  caller.note({ changed, before: shown, after: row, message })
  events.add({
    severity: 'info',
    event: 'tenant.set',
    object: row.name,
    detail: message,
    actor: caller.actor,
  })
  return row
}

function changesInWords(set: readonly string[], unset: readonly string[]): string {
  const parts = [
    set.length === 0 ? '' : `set ${set.join(', ')}`,
    unset.length === 0 ? '' : `${unset.join(', ')} as in the config`,
  ]
  return parts.filter((part) => part !== '').join('; ') || 'set nothing'
}

function made(name: string): TenantSettings {
  try {
    return plainTenant(name)
  } catch (cause) {
    const message = 'a tenant is named with 1 to 63 letters, digits, ".", "-" or "_"'
    throw new AdminError({ code: 'invalid_input', message }, { cause })
  }
}

function editOf(input: ParsedInputOf<'tenants.set'>): TenantEdit {
  const {
    tenant: _t,
    dry_run: _d,
    force: _f,
    if_revision: _r,
    unset: _u,
    credit_window,
    ...fields
  } = input
  const edit: TenantEdit = {}
  Object.assign(edit, Object.fromEntries(Object.entries(fields).filter(([, v]) => v !== undefined)))
  if (credit_window === undefined) return edit
  const ms = durationMs(credit_window)
  if (ms === undefined) {
    const message = 'credit_window: use a string with a unit, as in "24h"'
    throw new AdminError({ code: 'invalid_input', message })
  }
  return { ...edit, credit_window: ms }
}
