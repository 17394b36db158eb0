// Keeps the actors and keys of the tenant under the cursor up to date while its screen is shown.
// They are asked for, because there may be thousands of them: when the cursor comes to another
// tenant, and again, at most every two seconds, while something happens to it. A quiet tenant is
// asked for once a minute, for what only time changes.

import { AdminError } from '../gateway/contract/faults.ts'
import type { TenantLine } from '../gateway/contract/schema/tenants.ts'
import type { Console } from './console.ts'
import { tenantUnderCursor } from './screens/tenant-items.ts'

/** A held key passes many tenants: only where it rests is asked for. */
const REST_MS = 120
const AGAIN_MS = 2_000
const QUIET_MS = 60_000
/** Rows of each list: more than anybody scrolls through. */
const LIMIT = 100

/** Returns how to end it. */
export function followTenant(console: Console): () => void {
  const follower = new Follower(console)
  const unsubscribe = console.store.subscribe(() => follower.look())
  return () => {
    unsubscribe()
    follower.stop()
  }
}

class Follower {
  readonly #console: Console
  #askedName: string | undefined
  #askedRow: TenantLine | undefined
  #askedKeys = -1
  #askedMono = Number.NEGATIVE_INFINITY
  #asking = false
  #cancel: (() => void) | undefined

  constructor(console: Console) {
    this.#console = console
  }

  stop(): void {
    this.#cancel?.()
  }

  look(): void {
    if (this.#asking || this.#cancel !== undefined) return
    const wait = this.#wait()
    if (wait === undefined) return
    this.#cancel = this.#console.store.clock.after(wait, () => {
      this.#cancel = undefined
      // The cursor may have moved on meanwhile: what it stands on now counts.
      if (this.#wait() !== undefined) void this.#ask()
    })
  }

  /** How long until it is time to ask; undefined = there is nothing to ask. */
  #wait(): number | undefined {
    const { store } = this.#console
    if (store.ui.screen !== 'tenants' || store.getState().feed.link.kind !== 'live')
      return undefined
    const row = this.#row()
    if (row === undefined) return undefined
    if (row.name !== this.#askedName) return REST_MS
    // Keys change by hand, and whoever did it looks for what became of it.
    if (this.#keysRevision() !== this.#askedKeys) return REST_MS
    const since = store.clock.mono() - this.#askedMono
    if (row !== this.#askedRow) return Math.max(0, AGAIN_MS - since)
    return since >= QUIET_MS ? 0 : undefined
  }

  #row(): TenantLine | undefined {
    const view = this.#console.fleet()
    return view === undefined ? undefined : tenantUnderCursor(view)
  }

  #keysRevision(): number {
    return this.#console.store.snapshot?.access?.keys_revision ?? 0
  }

  async #ask(): Promise<void> {
    const row = this.#row()
    if (row === undefined) return
    this.#asking = true
    this.#askedName = row.name
    this.#askedRow = row
    this.#askedKeys = this.#keysRevision()
    this.#askedMono = this.#console.store.clock.mono()
    try {
      const use = await this.#console.admin.call('tenants.use', { tenant: row.name, limit: LIMIT })
      const { use: before, problem } = this.#console.ui.tenants
      const same = problem === undefined && JSON.stringify(use) === JSON.stringify(before)
      if (!same) this.#console.updateTenants({ use, problem: undefined })
    } catch (error) {
      if (!(error instanceof AdminError)) throw error
      this.#console.updateTenants({ use: undefined, problem: error.message })
    } finally {
      this.#asking = false
    }
    this.look()
  }
}
