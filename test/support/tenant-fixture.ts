// Tenants as the contract shows them: one near its end, one that has spent all, some without a
// limit, a list of models that is too long for its column.

import type { OutputOf } from '../../src/gateway/contract/schema.ts'
import type { TenantLine } from '../../src/gateway/contract/schema/tenants.ts'

export type TenantUse = OutputOf<'tenants.use'>

const RESETS_AT = '2026-05-02T00:00:00.000Z'

export function tenantLine(name: string, fields: Partial<TenantLine> = {}): TenantLine {
  return {
    name,
    weight: 1,
    max_in_flight: 0,
    credits: 0,
    actor_credits: 0,
    credit_window: '24h',
    priority: 'interactive',
    set_at_run_time: [],
    keys: 1,
    in_config: true,
    models: { allowed: ['*'], denied: [], more: 0 },
    actors: 1,
    active: 0,
    queued: 0,
    requests_last_minute: 0,
    tokens_last_minute: 0,
    account: accountOf(0, 0),
    ...fields,
  }
}

function accountOf(used: number, limit: number, granted: number = 0): TenantLine['account'] {
  const left = limit === 0 ? null : Math.max(0, limit + granted - used)
  return { used, granted, reserved: 0, left, resets_at: RESETS_AT }
}

export function tenantLines(): TenantLine[] {
  const patterns = (...allowed: string[]): TenantLine['models'] => ({
    allowed,
    denied: [],
    more: 0,
  })
  return [
    tenantLine('acme', {
      weight: 4,
      keys: 3,
      actors: 12,
      active: 4,
      queued: 1,
      requests_last_minute: 48,
      tokens_last_minute: 9_100,
      credits: 10_000_000,
      account: accountOf(6_200_000, 10_000_000),
      models: patterns('qwen3:*', 'gemma4:*'),
    }),
    tenantLine('batch', {
      priority: 'background',
      queued: 2,
      requests_last_minute: 12,
      tokens_last_minute: 3_200,
      credits: 10_000_000,
      account: accountOf(9_700_000, 10_000_000),
    }),
    tenantLine('default', { keys: 0, actors: 0, in_config: false }),
    tenantLine('indexer', {
      active: 1,
      requests_last_minute: 210,
      tokens_last_minute: 54_000,
      account: accountOf(31_400_000, 0),
      models: patterns('nomic-embed-text:*'),
    }),
    tenantLine('openwebui', {
      weight: 4,
      actors: 41,
      active: 2,
      requests_last_minute: 31,
      tokens_last_minute: 7_700,
      account: accountOf(12_000_000, 0),
      models: { allowed: ['*'], denied: ['orcarouter/*'], more: 7 },
    }),
    tenantLine('research', {
      weight: 2,
      max_in_flight: 8,
      keys: 2,
      actors: 6,
      active: 2,
      queued: 1,
      requests_last_minute: 8,
      tokens_last_minute: 2_900,
      credits: 5_000_000,
      actor_credits: 2_000_000,
      set_at_run_time: ['credits'],
      account: accountOf(900_000, 5_000_000),
    }),
    tenantLine('trial', {
      keys: 5,
      actors: 5,
      in_config: false,
      set_at_run_time: ['credits', 'allowed_models'],
      credits: 200_000,
      account: accountOf(200_000, 200_000),
      models: patterns('qwen3:0.6b'),
    }),
  ]
}

type Actor = TenantUse['actors'][number]
type Key = TenantUse['keys'][number]

function actor(name: string, used: number, fields: Partial<Actor> = {}): Actor {
  const account = accountOf(used, 2_000_000)
  return {
    actor: name,
    active: 0,
    queued: 0,
    requests_last_hour: 0,
    last_at: null,
    account,
    ...fields,
  }
}

function key(id: string, fields: Partial<Key> = {}): Key {
  return {
    id,
    kind: 'secret',
    tenant: 'research',
    scope: 'infer',
    state: 'active',
    created_at: '2026-02-08T09:00:00.000Z',
    created_by: 'root@pts/3',
    expires_at: null,
    revoked_at: null,
    allowed_models: ['*'],
    denied_models: [],
    trust_identity_headers: false,
    last_used_at: null,
    ...fields,
  }
}

/** What the gateway tells about one tenant. */
export function tenantUse(tenant: string): TenantUse {
  const actors = [
    actor('anna', 500_000, {
      active: 1,
      requests_last_hour: 18,
      last_at: '2026-05-01T11:59:40.000Z',
    }),
    actor('ben', 200_000, {
      active: 1,
      queued: 1,
      requests_last_hour: 9,
      last_at: '2026-05-01T11:58:00.000Z',
    }),
    actor('cara', 1_900_000, { requests_last_hour: 4, last_at: '2026-05-01T11:19:00.000Z' }),
    actor('session-7', 0, { account: null, last_at: '2026-04-25T11:19:00.000Z' }),
  ]
  const keys = [
    key('k1a2b3c4d5', { last_used_at: '2026-05-01T11:59:40.000Z' }),
    key('k9f8e7d6c5', { kind: 'ed25519', expires_at: '2026-12-31T00:00:00.000Z' }),
    key('k0000000aa', { state: 'revoked', revoked_at: '2026-03-01T00:00:00.000Z' }),
  ].map((one) => ({ ...one, tenant }))
  return { tenant, actors, actors_total: 6, keys, keys_total: 3 }
}
