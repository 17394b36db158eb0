// The credit accounts: counted in memory, written within half a second, so that a process that is
// killed loses less than its last second. A disk that fails is told and stops nobody.

import { z } from 'zod'
import type { Clock, Timer } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import { affords, inWindow, windowStart } from '../policy/credits.ts'
import type { Account, CreditLedger, Payer, Reserved } from '../policy/credits.ts'
import { Document, NotSaved } from './document.ts'
import type { DocumentOptions } from './document.ts'
import type { DocumentForm } from './document-form.ts'

type Tenant = Config['tenants'][number]

const Stored = z.strictObject({
  tenant: z.string().min(1),
  account: z.string().nullable(),
  window_start: z.number(),
  used: z.number().min(0),
  granted: z.number(),
})

const CreditsDocument = z.strictObject({ version: z.literal(1), accounts: z.array(Stored) })
type CreditsDocument = z.infer<typeof CreditsDocument>

export const creditsForm: DocumentForm<CreditsDocument> = {
  schema: CreditsDocument,
  empty: { version: 1, accounts: [] },
  remedy: 'move it away to start with nothing used',
}

export interface CreditsDeps extends Pick<DocumentOptions<CreditsDocument>, 'disk'> {
  clock: Clock
  /** As they are in force. */
  tenants(): readonly Tenant[]
  /** Told when writing begins to fail, and with undefined when it works again. */
  onTrouble(error: NotSaved | undefined): void
}

export interface CreditRow extends Payer {
  state: Account
}

/** Changes are gathered for so long. */
const WRITE_GAP_MS = 400
const RETRY_MS = 2_000
/** Actors beyond it push out those that are idle. */
const MAX_ACCOUNTS = 100_000

interface Entry extends Payer {
  state: Account
}

type Amendment = Pick<Account, 'used' | 'granted'>

export class CreditsState implements CreditLedger {
  readonly #deps: CreditsDeps
  readonly #document: Document<CreditsDocument>
  readonly #entries = new Map<string, Entry>()
  /** The entries of actors, by tenant: a console asks for one tenant's, several times a second. */
  readonly #actors = new Map<string, Set<Entry>>()
  #timer: Timer | undefined
  #writing: Promise<void> = Promise.resolve()
  #dirty = false
  #trouble: NotSaved | undefined

  /** Throws StartError where the file is broken. */
  constructor(file: string, { disk, ...deps }: CreditsDeps) {
    this.#deps = { ...deps }
    this.#document = new Document<CreditsDocument>({
      file,
      ...creditsForm,
      ...(disk === undefined ? {} : { disk }),
    })
    for (const { tenant, account, window_start, used, granted } of this.#document.value.accounts) {
      const payer = { tenant, account: account ?? undefined }
      const state = { windowStart: window_start, used, reserved: 0, granted }
      this.#keep({ ...payer, state })
    }
  }

  get error(): string | undefined {
    return this.#trouble?.message
  }

  /** Both or none: a request that its tenant cannot pay reserves nothing of its actor. */
  reserve(payer: Payer, tokens: number): Reserved {
    const { credits = 0, actor_credits = 0 } = this.#tenant(payer.tenant) ?? {}
    const ofTenant = { tenant: payer.tenant, account: undefined }
    if (!affords(this.#entry(ofTenant).state, credits, tokens)) {
      return { ok: false, who: 'tenant', resetAtMs: this.#resetAt(payer.tenant) }
    }
    const payers = payer.account === undefined ? [ofTenant] : [ofTenant, payer]
    if (payer.account !== undefined && !affords(this.#entry(payer).state, actor_credits, tokens)) {
      return { ok: false, who: 'actor', resetAtMs: this.#resetAt(payer.tenant) }
    }
    for (const one of payers) this.#add(one, { reserved: tokens, used: 0 })
    let settled = false
    const settle = (used: number): void => {
      if (settled) return
      settled = true
      for (const one of payers) this.#add(one, { reserved: -tokens, used: Math.max(0, used) })
      this.#changed()
    }
    return { ok: true, reservation: { settle } }
  }

  /** Actors of a tenant, in the window of now. */
  actors(tenant: string): CreditRow[] {
    return [...(this.#actors.get(tenant) ?? [])].map((entry) => ({
      ...entry,
      state: this.#entry(entry).state,
    }))
  }

  /** How many actors of a tenant have an account. */
  actorCount(tenant: string): number {
    return this.#actors.get(tenant)?.size ?? 0
  }

  state(payer: Payer): Account {
    return this.#entry(payer).state
  }

  /** Wall clock in milliseconds at which the tenant's next window begins. */
  #resetAt(tenant: string): number {
    const windowMs = this.#windowMs(tenant)
    return windowStart(this.#deps.clock.now(), windowMs) + windowMs
  }

  /** Adds to what may be used in this window. Rejects with NotSaved. */
  grant(payer: Payer, tokens: number): Promise<void> {
    return this.#amend(payer, { used: 0, granted: tokens })
  }

  /** Nothing is used in this window any more. Rejects with NotSaved. */
  reset(payer: Payer): Promise<void> {
    return this.#amend(payer, { used: -this.#entry(payer).state.used, granted: 0 })
  }

  /** Writes what is not written yet. Never rejects. */
  async flush(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    await this.#write()
  }

  /**
   * Changes an account by so much and writes it. What the disk refuses is undone by as much: others
   * may have changed the account meanwhile, and a new window has nothing of it.
   */
  async #amend(payer: Payer, by: Amendment): Promise<void> {
    const entry = this.#entry(payer)
    const { windowStart: window } = entry.state
    entry.state = amended(entry.state, by)
    this.#dirty = true
    await this.#write()
    if (this.#trouble === undefined) return
    if (entry.state.windowStart === window) {
      entry.state = amended(entry.state, { used: -by.used, granted: -by.granted })
    }
    throw this.#trouble
  }

  #add(payer: Payer, { reserved, used }: { reserved: number; used: number }): void {
    const entry = this.#entry(payer)
    const { state } = entry
    entry.state = {
      ...state,
      reserved: Math.max(0, state.reserved + reserved),
      used: state.used + used,
    }
  }

  #entry(payer: Payer): Entry {
    const key = keyOf(payer)
    const now = this.#deps.clock.now()
    const windowMs = this.#windowMs(payer.tenant)
    const known = this.#entries.get(key)
    if (known === undefined && this.#entries.size >= MAX_ACCOUNTS) this.#dropIdle()
    const entry = known ?? { ...payer, state: inWindow(undefined, now, windowMs) }
    entry.state = inWindow(entry.state, now, windowMs)
    if (known === undefined) this.#keep(entry)
    return entry
  }

  #keep(entry: Entry): void {
    this.#entries.set(keyOf(entry), entry)
    if (entry.account === undefined) return
    const actors = this.#actors.get(entry.tenant) ?? new Set()
    this.#actors.set(entry.tenant, actors.add(entry))
  }

  #dropIdle(): void {
    for (const [key, entry] of this.#entries) {
      if (entry.account === undefined || entry.state.reserved > 0) continue
      this.#entries.delete(key)
      this.#actors.get(entry.tenant)?.delete(entry)
      if (this.#entries.size < MAX_ACCOUNTS) return
    }
  }

  #tenant(name: string): Tenant | undefined {
    return this.#deps.tenants().find((tenant) => tenant.name === name)
  }

  #windowMs(tenant: string): number {
    return this.#tenant(tenant)?.credit_window ?? DAY_MS
  }

  #changed(): void {
    this.#dirty = true
    this.#plan(WRITE_GAP_MS)
  }

  #plan(ms: number): void {
    this.#timer ??= this.#deps.clock.after(ms, () => {
      this.#timer = undefined
      void this.#write()
    })
  }

  #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeOut())
    return this.#writing
  }

  async #writeOut(): Promise<void> {
    if (!this.#dirty) return
    this.#dirty = false
    try {
      await this.#document.save({ version: 1, accounts: this.#stored() })
      this.#tell(undefined)
    } catch (error) {
      if (!(error instanceof NotSaved)) throw error
      this.#dirty = true
      this.#plan(RETRY_MS)
      this.#tell(error)
    }
  }

  #stored(): CreditsDocument['accounts'] {
    return [...this.#entries.values()]
      .filter(({ state }) => state.used > 0 || state.granted !== 0)
      .map(({ tenant, account, state }) => ({
        tenant,
        account: account ?? null,
        window_start: state.windowStart,
        used: state.used,
        granted: state.granted,
      }))
  }

  #tell(trouble: NotSaved | undefined): void {
    const changed = (this.#trouble === undefined) !== (trouble === undefined)
    this.#trouble = trouble
    if (changed) this.#deps.onTrouble(trouble)
  }
}

const DAY_MS = 86_400_000

function amended(state: Account, { used, granted }: Amendment): Account {
  return {
    ...state,
    used: Math.max(0, state.used + used),
    granted: Math.max(0, state.granted + granted),
  }
}

/** A line feed is in no name of a tenant. */
function keyOf({ tenant, account }: Payer): string {
  return account === undefined ? tenant : `${tenant}\n${account}`
}
