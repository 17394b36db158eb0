// Tells a busy worker from an absent one. Silence is judged by a probe to the request's own
// address, never by the clock alone: a cold load or a long prefill is silent for minutes and
// alive, a sleeping host completes the handshake and is gone. Once all of an answer has come,
// silence is neither: the worker, or a proxy before it, only keeps the connection.

import type { Clock } from '../clock.ts'
import { coarseTimersOf } from './coarse-timers.ts'
import type { Deadline } from './coarse-timers.ts'

export type ProbeResult = { ok: true } | { ok: false; error: string }

export interface SilenceLimits {
  /** Silence after which the address is probed, and again each further such time. */
  graceMs: number
  /** Silence that ends the request however alive the worker is. */
  timeoutMs: number
}

/** What a worker gets to end the connection itself once all of its answer has come. */
const LAST_WORD_MS = 1_000

export type Silence =
  | { kind: 'whole' }
  | { kind: 'absent'; silentMs: number; error: string }
  | { kind: 'timeout'; silentMs: number }

export interface SilenceWatchDeps {
  clock: Clock
  probe(signal: AbortSignal): Promise<ProbeResult>
  /** All of the answer has come; asked once a silence. */
  isWhole?(): boolean
  /** Called at most once; the watch is over then. */
  onSilence(silence: Silence): void
}

export class SilenceWatch implements Deadline {
  readonly #deps: SilenceWatchDeps
  #limits: SilenceLimits
  #heardAt: number
  /** The byte after which it was asked whether the answer is whole. */
  #askedAt = Number.NaN
  dueAt: number
  #probing: AbortController | undefined

  constructor(deps: SilenceWatchDeps, limits: SilenceLimits) {
    this.#deps = deps
    this.#limits = limits
    this.#heardAt = deps.clock.mono()
    this.dueAt = this.#heardAt + Math.min(LAST_WORD_MS, limits.graceMs)
    coarseTimersOf(deps.clock).watch(this)
  }

  get heardAt(): number {
    return this.#heardAt
  }

  /** A byte came. Called for each chunk: it only notes the time. */
  heard(): void {
    this.#heardAt = this.#deps.clock.mono()
  }

  /** The first byte came: silence in mid-stream has its own limits. */
  restart(limits: SilenceLimits): void {
    this.#limits = limits
    this.heard()
    this.dueAt = this.#heardAt + Math.min(LAST_WORD_MS, limits.graceMs)
  }

  stop(): void {
    coarseTimersOf(this.#deps.clock).unwatch(this)
    this.#probing?.abort()
    this.#probing = undefined
  }

  #silentMs(): number {
    return this.#deps.clock.mono() - this.#heardAt
  }

  onDue(): void {
    const { graceMs, timeoutMs } = this.#limits
    const silentMs = this.#silentMs()
    const graceLeft = Math.min(graceMs, timeoutMs) - silentMs
    if (silentMs >= LAST_WORD_MS && this.#isWhole()) {
      this.#over({ kind: 'whole' })
    } else if (silentMs >= timeoutMs) {
      this.#over({ kind: 'timeout', silentMs })
    } else if (graceLeft > 0) {
      this.dueAt = this.#deps.clock.mono() + Math.min(LAST_WORD_MS, graceLeft)
    } else {
      this.dueAt = this.#deps.clock.mono() + Math.min(graceMs, timeoutMs - silentMs)
      void this.#probe()
    }
  }

  #isWhole(): boolean {
    if (this.#askedAt === this.#heardAt) return false
    this.#askedAt = this.#heardAt
    return this.#deps.isWhole?.() ?? false
  }

  async #probe(): Promise<void> {
    if (this.#probing !== undefined) return
    const probing = new AbortController()
    this.#probing = probing
    const askedAt = this.#heardAt
    const result = await this.#deps.probe(probing.signal)
    if (this.#probing !== probing) return // stopped meanwhile
    this.#probing = undefined
    if (result.ok || this.#heardAt !== askedAt) return
    this.#over({ kind: 'absent', silentMs: this.#silentMs(), error: result.error })
  }

  #over(silence: Silence): void {
    this.stop()
    this.#deps.onSilence(silence)
  }
}
