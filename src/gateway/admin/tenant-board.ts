// Tenants as operators see them: what is set, what they do now, what they have used. The list is
// made several times a second while a console looks, so that it costs nothing per key or actor;
// keys and actors are gone through only for the one tenant that somebody asks for.

import type { Clock } from '../clock.ts'
import { durationText } from '../config/fields.ts'
import type { Config } from '../config/schema.ts'
import type { TenantRow } from '../contract/schema/access.ts'
import type { AccessSection, ActorLine, KeyUse, TenantLine } from '../contract/schema/tenants.ts'
import type { OutputOf } from '../contract/schema.ts'
import type { CreditsState } from '../state/credits-state.ts'
import { isUsable } from '../state/keys-state.ts'
import type { KeysState, StoredKey } from '../state/keys-state.ts'
import { DEFAULT_TENANT, plainTenant, sameName } from '../state/tenants-state.ts'
import type { TenantSettings, TenantsState } from '../state/tenants-state.ts'
import { accountRow, isoOrNull, keyRow } from './rows/access.ts'
import type { Load, TenantBook } from './tenant-book.ts'

export interface TenantBoardDeps {
  clock: Clock
  keys: KeysState
  state: TenantsState
  credits: CreditsState
  /** As they are in force. */
  tenants(): Config['tenants']
  /** As the config has them. */
  configured(): Config['tenants']
  book: TenantBook
  /** Wall clock; undefined where it let nobody in since the start. */
  keyUsedAt(id: string): number | undefined
}

/** Patterns of a list that a row of the console has room for. */
const PATTERNS_SHOWN = 4
const DEFAULT_LIMIT = 100
const IDLE: Load = { active: 0, queued: 0 }

export class TenantBoard {
  readonly #deps: TenantBoardDeps
  #counted: { list: readonly StoredKey[]; until: number; counts: Map<string, number> } | undefined

  constructor(deps: TenantBoardDeps) {
    this.#deps = deps
  }

  revisions(): AccessSection {
    const { state, keys } = this.#deps
    return { tenants_revision: state.revision, keys_revision: keys.revision }
  }

  /** Sorted by name. */
  lines(): TenantLine[] {
    const { tenants, configured, book, credits } = this.#deps
    const loads = book.loads()
    // A tenant is spelled as its config spells it, but for the default one.
    const written = new Set(configured().map(({ name }) => plainName(name)))
    return tenants()
      .map((tenant): TenantLine => {
        const { allowed_models: allowed, denied_models: denied, ...row } = this.row(tenant)
        const state = credits.state({ tenant: tenant.name, account: undefined })
        return {
          ...row,
          in_config: written.has(tenant.name),
          models: firstOf(allowed, denied),
          ...this.#doing(tenant.name, loads.get(tenant.name)),
          account: accountRow(state, tenant, tenant.credits),
        }
      })
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** What holds for fields that nobody sets at run time. */
  withoutOverride(tenant: TenantSettings): TenantSettings {
    const written = this.#deps.configured().find(({ name }) => sameName(name, tenant.name))
    return written ?? plainTenant(tenant.name)
  }

  row(tenant: TenantSettings): TenantRow {
    return {
      ...tenant,
      credit_window: durationText(tenant.credit_window),
      set_at_run_time: Object.keys(this.#deps.state.overridden(tenant.name) ?? {}),
      keys: this.#usableKeys().get(tenant.name) ?? 0,
    }
  }

  /** What a console shows below the list for one tenant. */
  use(tenant: TenantSettings, limit: number = DEFAULT_LIMIT): OutputOf<'tenants.use'> {
    const actors = this.#actors(tenant)
    const now = this.#deps.clock.now()
    const keys = this.#deps.keys
      .list()
      .filter((key) => key.tenant === tenant.name)
      .map((key) => this.#keyUse(key, now))
      .toSorted(byKeyUse)
    return {
      tenant: tenant.name,
      actors: actors.toSorted(byActorUse).slice(0, limit),
      actors_total: actors.length,
      keys: keys.slice(0, limit),
      keys_total: keys.length,
    }
  }

  #doing(name: string, { active, queued }: Load = IDLE) {
    const { book, credits } = this.#deps
    const { requests, tokens } = book.lastMinute(name)
    return {
      actors: credits.actorCount(name),
      active,
      queued,
      requests_last_minute: requests,
      tokens_last_minute: tokens,
    }
  }

  #actors(tenant: TenantSettings): ActorLine[] {
    const { book, credits } = this.#deps
    const charged = credits.actors(tenant.name)
    const accounts = new Map(charged.map(({ account = '', state }) => [account, state]))
    const used = new Map(book.actors(tenant.name).map((use) => [use.actor, use]))
    return [...new Set([...used.keys(), ...accounts.keys()])].map((actor) => {
      const use = used.get(actor)
      const state = accounts.get(actor)
      return {
        actor,
        active: use?.active ?? 0,
        queued: use?.queued ?? 0,
        requests_last_hour: use?.requestsLastHour ?? 0,
        last_at: isoOrNull(use?.lastWall),
        account: state === undefined ? null : accountRow(state, tenant, tenant.actor_credits),
      }
    })
  }

  #keyUse(key: StoredKey, now: number): KeyUse {
    return { ...keyRow(key, now), last_used_at: isoOrNull(this.#deps.keyUsedAt(key.id)) }
  }

  /** Counted again when keys were made or revoked, and when the next one expires. */
  #usableKeys(): ReadonlyMap<string, number> {
    const { keys, clock } = this.#deps
    const list = keys.list()
    const now = clock.now()
    if (this.#counted?.list === list && now < this.#counted.until) return this.#counted.counts
    const counts = new Map<string, number>()
    let until = Number.POSITIVE_INFINITY
    for (const key of list) {
      if (!isUsable(key, now)) continue
      counts.set(key.tenant, (counts.get(key.tenant) ?? 0) + 1)
      if (key.expires_ms !== null) until = Math.min(until, key.expires_ms)
    }
    this.#counted = { list, until, counts }
    return counts
  }
}

function plainName(name: string): string {
  return sameName(name, DEFAULT_TENANT) ? DEFAULT_TENANT : name
}

function firstOf(allowed: readonly string[], denied: readonly string[]): TenantLine['models'] {
  const shown = [allowed.slice(0, PATTERNS_SHOWN), denied.slice(0, PATTERNS_SHOWN)] as const
  const more = allowed.length + denied.length - shown[0].length - shown[1].length
  return { allowed: shown[0], denied: shown[1], more }
}

function byActorUse(a: ActorLine, b: ActorLine): number {
  const size = (one: ActorLine): number => one.account?.used ?? 0
  return (
    b.active + b.queued - (a.active + a.queued) ||
    size(b) - size(a) ||
    b.requests_last_hour - a.requests_last_hour ||
    (a.actor < b.actor ? -1 : 1)
  )
}

function byKeyUse(a: KeyUse, b: KeyUse): number {
  const dead = ({ state }: KeyUse): number => (state === 'active' ? 0 : 1)
  const last = ({ last_used_at: at, created_at: made }: KeyUse): string => at ?? made
  return dead(a) - dead(b) || (last(a) < last(b) ? 1 : last(a) > last(b) ? -1 : 0)
}
