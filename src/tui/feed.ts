// Follows the gateway for as long as the console lives. A gateway that goes away is told at once
// and asked again, for ever; the last picture stays.

import type { AdminClient } from '../gateway/contract/client.ts'
import type { AdminError } from '../gateway/contract/faults.ts'
import type { Clock } from './clock.ts'
import type { ConsoleStore, LostReason } from './store.ts'

/** The gateway says something every two seconds; after this long it is said to be silent. */
const STALE_MS = 3_000
/** A connection that has been silent for so long is given up for a new one. */
const SILENT_MS = 10_000
const BACKOFF_MS = [250, 500, 1_000, 2_000, 4_000, 5_000]
/** Consoles that lost one gateway together do not come back together. */
const JITTER = 0.2

export interface FeedHandle {
  /** Tries again now. */
  retry(): void
  stop(): void
}

export function startFeed(admin: AdminClient, store: ConsoleStore): FeedHandle {
  const feed = new FeedLoop(admin, store)
  void feed.run()
  return feed
}

class FeedLoop implements FeedHandle {
  readonly #admin: AdminClient
  readonly #store: ConsoleStore
  readonly #clock: Clock
  readonly #stopping = new AbortController()
  #watch = new AbortController()
  #heardMono: number
  #attempt = 0
  #lostSince: number | undefined
  #wake: (() => void) | undefined

  constructor(admin: AdminClient, store: ConsoleStore) {
    this.#admin = admin
    this.#store = store
    this.#clock = store.clock
    this.#heardMono = this.#clock.mono()
  }

  /** Never rejects: watch reports its errors. */
  async run(): Promise<void> {
    this.#lookAround()
    while (!this.#stopping.signal.aborted) {
      // oxlint-disable-next-line no-await-in-loop -- one connection follows the other
      await this.#watchOnce()
      // oxlint-disable-next-line no-await-in-loop -- a pause between two attempts
      if (!this.#stopping.signal.aborted) await this.#pause()
    }
  }

  retry(): void {
    this.#attempt = 0
    this.#wake?.()
  }

  stop(): void {
    this.#stopping.abort()
    this.#watch.abort()
    this.#wake?.()
  }

  async #watchOnce(): Promise<void> {
    this.#watch = new AbortController()
    this.#heardMono = this.#clock.mono()
    const { signal } = this.#watch
    await this.#admin.watch(
      {
        onSnapshot: (snapshot) => {
          this.#heard()
          this.#store.stage(snapshot)
        },
        onAlive: () => this.#heard(),
        onError: (error) => this.#lost(reasonOf(error), error.message),
      },
      signal,
    )
  }

  #heard(): void {
    this.#heardMono = this.#clock.mono()
    this.#store.setSkew(this.#admin.skew)
    if (this.#store.getState().feed.link.kind === 'live') return
    this.#attempt = 0
    this.#lostSince = undefined
    this.#store.batch(() => {
      this.#store.setLink({ kind: 'live' })
    })
  }

  #lost(reason: LostReason, message: string): void {
    if (this.#stopping.signal.aborted) return
    this.#lostSince ??= this.#heardMono
    const wait = BACKOFF_MS[Math.min(this.#attempt, BACKOFF_MS.length - 1)] ?? 0
    this.#attempt += 1
    this.#store.setLink({
      kind: 'lost',
      since: this.#lostSince,
      reason,
      message,
      attempt: this.#attempt,
      retryAt: this.#clock.mono() + wait * (1 + JITTER * Math.random()),
    })
  }

  async #pause(): Promise<void> {
    const { link } = this.#store.getState().feed
    const wait = link.kind === 'lost' ? link.retryAt - this.#clock.mono() : 0
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const cancel = this.#clock.after(Math.max(0, wait), resolve)
    await promise
    this.#wake = undefined
    cancel()
  }

  /** Once a second: has the gateway been silent for too long? */
  #lookAround(): void {
    if (this.#stopping.signal.aborted) return
    const silentMs = this.#clock.mono() - this.#heardMono
    const { link, snapshot } = this.#store.getState().feed
    if (silentMs > SILENT_MS && link.kind !== 'lost') {
      this.#lost('silent', 'the gateway holds the connection but says nothing')
      this.#watch.abort()
    } else if (silentMs > STALE_MS && link.kind === 'live' && snapshot !== undefined) {
      this.#store.setLink({ kind: 'stale', since: this.#heardMono })
    }
    this.#clock.after(1_000, () => this.#lookAround())
  }
}

/** The transport words its reasons; what matters here is which of them it is. */
function reasonOf({ code, details }: AdminError): LostReason {
  if (code !== 'not_running') return 'broken'
  const tried = Array.isArray(details['tried']) ? (details['tried'] as { code?: unknown }[]) : []
  const codes = tried.map((one) => one.code)
  if (codes.includes('EACCES') || codes.includes('EPERM')) return 'denied'
  return codes.includes('ECONNREFUSED') ? 'refused' : 'missing'
}
