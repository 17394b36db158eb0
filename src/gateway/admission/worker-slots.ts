// The slots of one worker: how many requests it has, for which models, and what it may not be sent
// just now. Only the scheduler changes it, and policies read it.

import { LOAD_PATIENCE_MS } from '../policy/pending-load.ts'
import type { PendingLoad } from '../policy/pending-load.ts'
import type { SlotState } from '../policy/eligibility.ts'
import { hasBegun } from '../policy/pending-load.ts'
import type { Worker } from '../fleet/worker.ts'

/** What a worker that answered 503 busy is left alone for, for that model. */
export const HOLD_MS = 1_000

/** How long a model that has just begun to answer counts as resident before /api/ps says so. */
const BEGUN_COUNTS_MS = LOAD_PATIENCE_MS * 2

export class WorkerSlots implements SlotState {
  inFlight = 0
  readonly models = new Map<string, number>()
  readonly holds = new Map<string, number>()
  readonly loadedBy = new Map<string, number>()
  pendingLoad: PendingLoad | undefined
  /** What tells the request that tries a half-open breaker from later ones. */
  trial: symbol | undefined
  lastGrant = 0
  /** Model key → monotonic time a request for it last began to be answered. */
  readonly #begunAt = new Map<string, number>()

  get onTrial(): boolean {
    return this.trial !== undefined
  }

  take(key: string, now: number): void {
    this.inFlight += 1
    this.models.set(key, (this.models.get(key) ?? 0) + 1)
    this.#watchIdle(now)
  }

  giveBack(key: string, now: number): void {
    const left = (this.models.get(key) ?? 0) - 1
    this.inFlight -= 1
    if (left > 0) this.models.set(key, left)
    else this.models.delete(key)
    // The load ended with the last request that wanted it: a real worker aborts it then.
    if (left <= 0 && this.pendingLoad?.key === key) this.pendingLoad = undefined
    this.#watchIdle(now)
  }

  /** A request was sent for a model that is not resident as it needs it. */
  expectLoad(worker: Worker, wish: { key: string; numCtx: number | undefined }, now: number): void {
    const { key, numCtx } = wish
    if (numCtx === undefined) this.loadedBy.delete(key)
    else this.loadedBy.set(key, numCtx)
    const { loaded } = worker
    const residents = new Set(loaded.state === 'known' ? loaded.models.keys() : [])
    const empty = loaded.state === 'known' && residents.size === 0 && this.inFlight === 1
    const recently = now - (this.#begunAt.get(key) ?? Number.NEGATIVE_INFINITY) < BEGUN_COUNTS_MS
    const resident = recently && numCtx === undefined && !residents.has(key)
    if (this.pendingLoad !== undefined || empty || resident) return
    this.pendingLoad = { key, numCtx, since: now, residents, idleSince: undefined }
    this.#watchIdle(now)
  }

  /** The worker answers a request for this model: its load is over. */
  begun(key: string, now: number): void {
    this.#begunAt.set(key, now)
    if (this.pendingLoad?.key === key) this.pendingLoad = undefined
  }

  /** Looks at the record; true where the pending load turns out to have begun. */
  observe(worker: Worker, now: number): boolean {
    if (worker.breaker.phase === 'closed') this.trial = undefined
    for (const [key, at] of this.#begunAt) {
      if (now - at >= BEGUN_COUNTS_MS) this.#begunAt.delete(key)
    }
    if (worker.loaded.state === 'known') {
      for (const key of this.loadedBy.keys()) {
        const gone = !worker.loaded.models.has(key) && !this.models.has(key)
        if (gone) this.loadedBy.delete(key)
      }
    }
    if (this.pendingLoad === undefined || !hasBegun(this.pendingLoad, worker.loaded)) return false
    this.pendingLoad = undefined
    return true
  }

  /** Another victim is looked for only after as long again. */
  unstuck(now: number): void {
    if (this.pendingLoad !== undefined) this.pendingLoad = { ...this.pendingLoad, idleSince: now }
  }

  #watchIdle(now: number): void {
    const pending = this.pendingLoad
    if (pending === undefined) return
    const others = this.inFlight - (this.models.get(pending.key) ?? 0)
    if (others > 0) this.pendingLoad = { ...pending, idleSince: undefined }
    else if (pending.idleSince === undefined) this.pendingLoad = { ...pending, idleSince: now }
  }
}
