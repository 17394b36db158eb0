// What happened lately, for `ogw events` and the console: a bounded ring in memory. The log on
// stderr is the lasting record.

import type { Clock } from '../clock.ts'

export interface GatewayEvent {
  severity: 'info' | 'warn' | 'error'
  /** As in `worker.down`. */
  event: string
  /** What it is about. */
  object: string
  detail: string
  /** Undefined = the gateway itself. */
  actor?: string | undefined
  /** The placement revision that it made. */
  revision?: number | undefined
}

export interface KeptEvent {
  seq: number
  at: string
  severity: GatewayEvent['severity']
  event: string
  object: string
  detail: string
  actor: string | null
  revision: number | null
}

const KEPT = 1_000
/** Details come from workers and config files; a page of one would push out everything else. */
const MAX_DETAIL_LENGTH = 1_000

export class EventRing {
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()
  #events: KeptEvent[] = []
  #seq = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Of the newest event; 0 before the first. */
  get seq(): number {
    return this.#seq
  }

  add(event: GatewayEvent): void {
    this.#seq += 1
    this.#events.push({
      seq: this.#seq,
      at: new Date(this.#clock.now()).toISOString(),
      severity: event.severity,
      event: event.event,
      object: event.object,
      detail: event.detail.slice(0, MAX_DETAIL_LENGTH),
      actor: event.actor ?? null,
      revision: event.revision ?? null,
    })
    // Cut in one go now and then: a shift per event would move the array each time.
    if (this.#events.length >= 2 * KEPT) this.#events = this.#events.slice(-KEPT)
    for (const listener of this.#listeners) listener()
  }

  /** Events after that number, oldest first, at most `limit` of the newest. */
  after(seq: number, limit = KEPT): KeptEvent[] {
    const count = Math.min(this.#seq - seq, limit, KEPT)
    return count > 0 ? this.#events.slice(-count) : []
  }

  /** Calls the listener after each event. Returns what ends that. */
  onEvent(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}
