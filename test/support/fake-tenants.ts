// The tenants of the fake gateway: settings, grants and keys that change as a real gateway's do.

import { AdminError } from '../../src/gateway/contract/faults.ts'
import type { Handlers } from '../../src/gateway/admin/handlers.ts'
import type { OutputOf } from '../../src/gateway/contract/schema.ts'
import type { Snapshot } from '../../src/gateway/contract/schema/snapshot.ts'
import type { TenantLine } from '../../src/gateway/contract/schema/tenants.ts'
import { tenantUse, type TenantUse } from './tenant-fixture.ts'

interface Fleet {
  snapshot: Snapshot
  set(change: (before: Snapshot) => Snapshot): void
}

/** What keys.create answers: a console may show it once and keep it nowhere. */
export const FAKE_SECRET = 'ogw_fakefakefakefakefakefakefakefakefakefakefak'

type Document = 'tenants_revision' | 'keys_revision'

export function tenantHandlers(fleet: Fleet): Partial<Handlers> {
  const uses = new Map<string, TenantUse>()
  const useOf = (tenant: string): TenantUse => {
    const use = uses.get(tenant) ?? tenantUse(lineOf(fleet, tenant).name)
    uses.set(tenant, use)
    return use
  }
  return {
    'tenants.use': ({ tenant }) => useOf(tenant),
    'tenants.show': ({ tenant }) => rowOf(lineOf(fleet, tenant)),
    'tenants.list': () => (fleet.snapshot.tenants ?? []).map(rowOf),
    'tenants.set': (input) => setTenant(fleet, input),
    'credits.grant': ({ tenant, actor, tokens, take_back, if_revision }) => {
      check(fleet, 'tenants_revision', if_revision)
      const more = take_back === true ? -tokens : tokens
      return account(fleet, { tenant, actor }, (before) => {
        if (before.granted + more < 0) {
          const message = `only ${before.granted} tokens were granted in this window`
          throw new AdminError({ code: 'invalid_input', message })
        }
        const left = before.left === null ? null : before.left + more
        return { ...before, granted: before.granted + more, left }
      })
    },
    'credits.reset': ({ tenant, actor, if_revision }) => {
      check(fleet, 'tenants_revision', if_revision)
      return account(fleet, { tenant, actor }, (before) => ({
        ...before,
        used: 0,
        left: before.left === null ? null : before.left + before.used,
      }))
    },
    'keys.create': ({ tenant, scope = 'infer', if_revision }) => {
      check(fleet, 'keys_revision', if_revision)
      const use = useOf(tenant)
      const id = `knew${use.keys_total}`
      const [like] = use.keys
      if (like !== undefined) {
        const made = { ...like, id, scope, last_used_at: null }
        uses.set(tenant, { ...use, keys: [made, ...use.keys], keys_total: use.keys_total + 1 })
      }
      moveOn(fleet, 'keys_revision')
      return { id, key: FAKE_SECRET, tenant, scope, expires_at: null }
    },
    'keys.revoke': ({ id, if_revision }) => {
      check(fleet, 'keys_revision', if_revision)
      let row: OutputOf<'keys.revoke'> | undefined
      for (const [tenant, use] of uses) {
        const keys = use.keys.map((one) => (one.id === id ? revoked(one) : one))
        uses.set(tenant, { ...use, keys })
        row = keys.map(({ last_used_at: _last, ...rest }) => rest).find((one) => one.id === id)
      }
      if (row === undefined) {
        throw new AdminError({ code: 'not_found', message: `there is no key with the id "${id}"` })
      }
      moveOn(fleet, 'keys_revision')
      return row
    },
  }
}

function revoked(key: TenantUse['keys'][number]): TenantUse['keys'][number] {
  return { ...key, state: 'revoked', revoked_at: '2026-05-01T12:00:00.000Z' }
}

function lineOf({ snapshot }: Fleet, name: string): TenantLine {
  const line = snapshot.tenants?.find((one) => one.name === name)
  if (line !== undefined) return line
  throw new AdminError({ code: 'not_found', message: `there is no tenant "${name}"` })
}

function rowOf(line: TenantLine): OutputOf<'tenants.show'> {
  const { in_config: _c, models, actors: _a, active: _r, queued: _q, account: _m, ...rest } = line
  const { requests_last_minute: _requests, tokens_last_minute: _tokens, ...row } = rest
  return { ...row, allowed_models: models.allowed, denied_models: models.denied }
}

type SetInput = Parameters<Handlers['tenants.set']>[0]

function setTenant(fleet: Fleet, input: SetInput): OutputOf<'tenants.set'> {
  check(fleet, 'tenants_revision', input.if_revision)
  const line = lineOf(fleet, input.tenant)
  const { tenant: _t, dry_run: _d, force: _f, if_revision: _r, unset = [], ...rest } = input
  const { allowed_models: allowed, denied_models: denied, ...plain } = rest
  const fields = Object.keys(rest)
  const set = line.set_at_run_time.filter((one) => !unset.some((field) => field === one))
  const next = {
    ...line,
    ...(Object.fromEntries(
      Object.entries(plain).filter(([, value]) => value !== undefined),
    ) as Partial<TenantLine>),
    models: {
      ...line.models,
      allowed: allowed ?? line.models.allowed,
      denied: denied ?? line.models.denied,
    },
    set_at_run_time: [...new Set([...set, ...fields])],
  }
  const { used, granted } = next.account
  const left = next.credits === 0 ? null : Math.max(0, next.credits + granted - used)
  replace(fleet, { ...next, account: { ...next.account, left } })
  moveOn(fleet, 'tenants_revision')
  return rowOf(lineOf(fleet, input.tenant))
}

function account(
  fleet: Fleet,
  { tenant, actor }: { tenant: string; actor: string | undefined },
  change: (before: TenantLine['account']) => TenantLine['account'],
): OutputOf<'credits.grant'> {
  const line = lineOf(fleet, tenant)
  const after = change(line.account)
  if (actor === undefined) replace(fleet, { ...line, account: after })
  const limit = actor === undefined ? line.credits : line.actor_credits
  return { tenant, actor: actor ?? null, limit, ...after }
}

function replace(fleet: Fleet, line: TenantLine): void {
  fleet.set((before) => ({
    ...before,
    tenants: (before.tenants ?? []).map((one) => (one.name === line.name ? line : one)),
  }))
}

function moveOn(fleet: Fleet, document: Document): void {
  fleet.set((before) => ({
    ...before,
    access: {
      tenants_revision: 0,
      keys_revision: 0,
      ...before.access,
      [document]: (before.access?.[document] ?? 0) + 1,
    },
  }))
}

function check({ snapshot }: Fleet, document: Document, wanted: number | undefined): void {
  const revision = snapshot.access?.[document] ?? 0
  if (wanted === undefined || wanted === revision) return
  const message = `the document is at revision ${revision} and not ${wanted} any more, changed by anna@pts/9. Look again, then repeat the change`
  throw new AdminError({ code: 'conflict', message, details: { revision } })
}
