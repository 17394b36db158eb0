// Keys and tenants as rows.

import type {
  CreditRow,
  KeyRow,
  TenantRow,
  UsageRow,
} from '../../gateway/contract/schema/access.ts'
import { cell, foreign, type Cell, type TableView } from './cell.ts'
import { age, NONE } from './units.ts'

/** 0 is no limit everywhere. */
export function limit(value: number): string {
  return value === 0 ? '∞' : String(value)
}

export function presentKeys(keys: readonly KeyRow[], now: number): TableView {
  return {
    columns: [
      { header: 'ID' },
      { header: 'TENANT' },
      { header: 'SCOPE' },
      { header: 'STATE' },
      { header: 'KIND' },
      { header: 'EXPIRES' },
      { header: 'CREATED', align: 'right' },
      { header: 'MODELS', cut: 'end' },
    ],
    rows: keys.map((key) => [
      foreign(key.id),
      foreign(key.tenant),
      cell(key.scope),
      cell(key.state, key.state === 'active' ? 'good' : 'dim'),
      cell(key.kind),
      foreign(key.expires_at ?? 'never'),
      cell(age(key.created_at, now)),
      models(key),
    ]),
  }
}

export function presentTenants(tenants: readonly TenantRow[]): TableView {
  return {
    columns: [
      { header: 'NAME' },
      { header: 'KEYS', align: 'right' },
      { header: 'WEIGHT', align: 'right' },
      { header: 'IN FLIGHT', align: 'right' },
      { header: 'CREDITS', align: 'right' },
      { header: 'PER ACTOR', align: 'right' },
      { header: 'WINDOW' },
      { header: 'PRIORITY' },
      { header: 'MODELS', cut: 'end' },
    ],
    rows: tenants.map((tenant) => [
      foreign(tenant.name),
      cell(String(tenant.keys)),
      cell(String(tenant.weight)),
      cell(limit(tenant.max_in_flight)),
      cell(limit(tenant.credits)),
      cell(limit(tenant.actor_credits)),
      cell(tenant.credit_window),
      cell(tenant.priority),
      models(tenant),
    ]),
  }
}

export function presentTenant(tenant: TenantRow): [string, Cell][] {
  const table = presentTenants([tenant])
  const facts = table.columns.map(({ header }, i): [string, Cell] => {
    return [header.toLowerCase(), table.rows[0]?.[i] ?? cell(NONE)]
  })
  const set = tenant.set_at_run_time.join(', ') || NONE
  return [...facts, ['set at run time', foreign(set)]]
}

function models(of: { allowed_models: readonly string[]; denied_models: readonly string[] }): Cell {
  const denied = of.denied_models.length > 0 ? ` but not ${of.denied_models.join(', ')}` : ''
  return foreign(`${of.allowed_models.join(', ')}${denied}`)
}

export function presentCredits(rows: readonly CreditRow[]): TableView {
  return {
    columns: [
      { header: 'TENANT' },
      { header: 'ACTOR' },
      { header: 'USED', align: 'right' },
      { header: 'LIMIT', align: 'right' },
      { header: 'GRANTED', align: 'right' },
      { header: 'LEFT', align: 'right' },
      { header: 'RESETS' },
    ],
    rows: rows.map((row) => [
      foreign(row.tenant),
      foreign(row.actor ?? NONE),
      cell(String(row.used)),
      cell(limit(row.limit)),
      cell(String(row.granted)),
      cell(row.left === null ? '∞' : String(row.left), row.left === 0 ? 'bad' : 'plain'),
      cell(row.resets_at),
    ]),
  }
}

export function presentUsage(rows: readonly UsageRow[]): TableView {
  return {
    columns: [
      { header: 'NAME' },
      { header: 'REQUESTS', align: 'right' },
      { header: 'TOKENS IN', align: 'right' },
      { header: 'TOKENS OUT', align: 'right' },
    ],
    rows: rows.map((row) => [
      foreign(row.name),
      cell(String(row.requests)),
      cell(String(row.prompt_tokens)),
      cell(String(row.output_tokens)),
    ]),
  }
}
