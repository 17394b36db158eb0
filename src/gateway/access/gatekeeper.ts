// Whether a request comes in, and as whom. Asked once per request, before its body is read: a
// wrong key costs a hash and a lookup, and leaves no line in the log.

import { timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import { GatewayError } from '../errors.ts'
import { hashOfKey, isUsable } from '../state/keys-state.ts'
import type { KeysState, StoredKey } from '../state/keys-state.ts'
import { credentialsOf } from './credentials.ts'
import type { Credentials } from './credentials.ts'
import { signatureFault } from './signature.ts'
import { holds, modelAccessOf } from './visitor.ts'
import type { ModelAccess, Scope, Visitor } from './visitor.ts'

export interface GatekeeperDeps {
  clock: Clock
  keys: Pick<KeysState, 'find' | 'list'>
  /** Tenants as they are in force. */
  config(): Pick<Config, 'auth' | 'tenants'>
  /** Every request needs a key. */
  needsKeys(): boolean
  /** Wrong keys since the last time; told at most every ten seconds. */
  onRefused(count: number): void
}

/** The parts of a request that say who sent it. */
export interface Asking {
  headers: IncomingHttpHeaders
  method: string
  path: string
  query: string
  pathKey: string | undefined
}

export type AnonymousName = Config['auth']['anonymous'][number]

/** What a route asks of its visitor. */
export interface RouteNeed {
  scope: Scope
  /** Open to everyone where `auth.anonymous` names it. */
  anonymous?: AnonymousName
}

type Judged = { visitor: Visitor } | { refused: string }

const TELL_MS = 10_000
const NO_KEY =
  'this gateway needs a key: send it as "Authorization: Bearer KEY" or "x-api-key: KEY"'

export class Gatekeeper {
  readonly #deps: GatekeeperDeps
  #of: Config['tenants'] | undefined
  #visitors = new WeakMap<StoredKey, Visitor>()
  #tenants = new Map<string, Config['tenants'][number]>()
  #tenantModels = new Map<string, ModelAccess>()
  /** Wall clock by id. Kept in memory: a file would be written with every request. */
  readonly #usedAt = new Map<string, number>()
  #refused = 0
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(deps: GatekeeperDeps) {
    this.#deps = deps
  }

  /** Throws GatewayError unauthorized or forbidden. */
  admit(asking: Asking, need: RouteNeed): Visitor {
    const config = this.#deps.config()
    const judged = this.#judge(asking)
    if (judged !== undefined && 'visitor' in judged) {
      const { visitor } = judged
      if (holds(visitor.scope, need.scope)) {
        if (visitor.keyId !== undefined) this.#usedAt.set(visitor.keyId, this.#deps.clock.now())
        return visitor
      }
      const detail = `key ${visitor.keyId} has the scope "${visitor.scope}"; this needs "${need.scope}"`
      throw new GatewayError({ code: 'forbidden', detail })
    }
    if (!this.#deps.needsKeys()) return this.#open(need)
    if (need.anonymous !== undefined && config.auth.anonymous.includes(need.anonymous)) {
      return this.#anonymous('read')
    }
    if (judged !== undefined) this.#countRefused()
    throw new GatewayError({ code: 'unauthorized', detail: judged?.refused ?? NO_KEY })
  }

  /** Who a key lets in, by its id; undefined where nobody has made it. */
  judgeId(id: string): Judged | undefined {
    const key = this.#deps.keys.list().find((known) => known.id === id)
    return key && this.#visitorOf(key)
  }

  /** When a key last let somebody in; undefined = not since the start. Wall clock. */
  keyUsedAt(id: string): number | undefined {
    return this.#usedAt.get(id)
  }

  #open(need: RouteNeed): Visitor {
    const visitor = this.#anonymous('infer')
    if (holds(visitor.scope, need.scope)) return visitor
    const detail = 'this needs a key with the scope "manage", also where others need none'
    throw new GatewayError({ code: 'forbidden', detail })
  }

  /** Undefined where the request brings nothing that could be a key. */
  #judge(asking: Asking): Judged | undefined {
    const given = credentialsOf(asking.headers, asking.pathKey)
    let refused = given.signed && this.#judgeSigned(given.signed, asking)
    if (refused !== undefined && 'visitor' in refused) return refused
    for (const text of given.keys) {
      const found = this.#judgeKey(text)
      if ('visitor' in found) return found
      refused ??= found
    }
    return refused
  }

  #judgeKey(text: string): Judged {
    const digest = hashOfKey(text)
    const key = this.#deps.keys.find('secret', digest)
    if (key === undefined || !sameText(key.verifier, digest)) return { refused: 'the key is wrong' }
    return this.#visitorOf(key)
  }

  #judgeSigned(signed: NonNullable<Credentials['signed']>, asking: Asking): Judged {
    const key = this.#deps.keys.find('ed25519', signed.publicKey)
    if (key === undefined) {
      return {
        refused:
          'this ollama key is not known here: an operator adds it with `ogw keys add-ed25519`',
      }
    }
    const fault = signatureFault(signed, { ...asking, now: this.#deps.clock.now() })
    return fault === undefined ? this.#visitorOf(key) : { refused: fault }
  }

  #visitorOf(key: StoredKey): Judged {
    if (!isUsable(key, this.#deps.clock.now())) {
      return { refused: `key ${key.id} ${key.revoked_at === null ? 'has expired' : 'is revoked'}` }
    }
    this.#refresh()
    const tenant = this.#tenants.get(key.tenant)
    // Without its tenant nobody knows what the key may use.
    if (tenant === undefined) return { refused: `the tenant of key ${key.id} is gone` }
    const known = this.#visitors.get(key)
    if (known !== undefined) return { visitor: known }
    const { auth } = this.#deps.config()
    const visitor: Visitor = {
      tenant: tenant.name,
      keyId: key.id,
      scope: key.scope,
      trustsHeaders: auth.trust_identity_headers || key.trust_identity_headers,
      models: modelAccessOf([
        listOf(tenant),
        { owner: `key ${key.id}`, allowed: key.allowed_models, denied: key.denied_models },
      ]),
    }
    this.#visitors.set(key, visitor)
    return { visitor }
  }

  #anonymous(scope: Scope): Visitor {
    this.#refresh()
    return {
      tenant: 'default',
      keyId: undefined,
      scope,
      trustsHeaders: this.#deps.config().auth.trust_identity_headers,
      models: this.#modelsOf('default'),
    }
  }

  #modelsOf(name: string): ModelAccess {
    if (this.#tenantModels.has(name)) return this.#tenantModels.get(name)
    const tenant = this.#tenants.get(name)
    const models = tenant === undefined ? undefined : modelAccessOf([listOf(tenant)])
    this.#tenantModels.set(name, models)
    return models
  }

  /** Other tenants, or another config, make other visitors. */
  #refresh(): void {
    const { tenants } = this.#deps.config()
    if (this.#of === tenants) return
    this.#of = tenants
    this.#tenants = new Map(tenants.map((tenant) => [tenant.name, tenant]))
    this.#tenantModels = new Map()
    this.#visitors = new WeakMap()
  }

  #countRefused(): void {
    this.#refused += 1
    const now = this.#deps.clock.mono()
    if (now - this.#toldAt < TELL_MS) return
    this.#toldAt = now
    this.#deps.onRefused(this.#refused)
    this.#refused = 0
  }
}

function listOf({ name, allowed_models, denied_models }: Config['tenants'][number]) {
  return { owner: `tenant "${name}"`, allowed: allowed_models, denied: denied_models }
}

/** Found by its hash already; compared without telling by the time how much of it is right. */
function sameText(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
