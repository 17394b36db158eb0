// The one place that holds what a frame is drawn from. What the operator does is published at once;
// what the fleet does is gathered and published on a frame clock, because every frame costs the
// terminal library a whole screen. Nothing is published when nothing changed.

import type { Snapshot } from '../gateway/contract/schema/snapshot.ts'
import type { Clock } from './clock.ts'
import { NO_SAMPLES, type Samples, takeSample } from './samples.ts'
import { INITIAL_UI, type UiState } from './state.ts'

export type LostReason = 'missing' | 'denied' | 'refused' | 'silent' | 'broken'

export type Link =
  | { kind: 'connecting'; since: number }
  | { kind: 'live' }
  /** Connected, but nothing has been heard for a while. */
  | { kind: 'stale'; since: number }
  | {
      kind: 'lost'
      since: number
      reason: LostReason
      message: string
      attempt: number
      retryAt: number
    }

export interface Feed {
  snapshot: Snapshot | undefined
  /** Monotonic and wall clock time of this console when the snapshot came. */
  receivedMono: number
  receivedWall: number
  link: Link
  /** A gateway of another version: said, and tolerated. */
  skew: string | undefined
}

export interface ConsoleState {
  feed: Feed
  ui: UiState
  samples: Samples
  /** Moves on when time alone changes the picture. */
  tick: number
}

/** After this long without a key the picture is drawn once a second at most. */
const IDLE_MS = 60_000
const IDLE_PERIOD_MS = 1_000

export class ConsoleStore {
  readonly clock: Clock
  #state: ConsoleState
  readonly #listeners = new Set<() => void>()
  #staged: Pick<Feed, 'snapshot' | 'receivedMono' | 'receivedWall'> | undefined
  #publishedMono = Number.NEGATIVE_INFINITY
  #cancelFrame: (() => void) | undefined
  #lastKeyMono: number
  #batching = false
  #dirty = false

  constructor(clock: Clock) {
    this.clock = clock
    this.#lastKeyMono = clock.mono()
    this.#state = {
      feed: {
        snapshot: undefined,
        receivedMono: clock.mono(),
        receivedWall: clock.now(),
        link: { kind: 'connecting', since: clock.mono() },
        skew: undefined,
      },
      ui: INITIAL_UI,
      samples: NO_SAMPLES,
      tick: 0,
    }
  }

  readonly getState = (): ConsoleState => this.#state

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get ui(): UiState {
    return this.#state.ui
  }

  /** The newest snapshot that was published: what the operator sees. */
  get snapshot(): Snapshot | undefined {
    return this.#state.feed.snapshot
  }

  /** Shown at once. */
  updateUi(change: Partial<UiState>): void {
    this.#publish({ ...this.#state, ui: { ...this.#state.ui, ...change } })
  }

  /** Several changes that are one picture. */
  batch(action: () => void): void {
    this.#batching = true
    try {
      action()
    } finally {
      this.#batching = false
      if (this.#dirty) this.#emit()
    }
  }

  touched(): void {
    this.#lastKeyMono = this.clock.mono()
  }

  setLink(link: Link): void {
    this.#publish({ ...this.#state, feed: { ...this.#state.feed, link } })
  }

  setSkew(skew: string | undefined): void {
    if (skew === this.#state.feed.skew) return
    this.#publish({ ...this.#state, feed: { ...this.#state.feed, skew } })
  }

  /** Time alone changed the picture. */
  tick(): void {
    this.#publish({ ...this.#state, tick: this.#state.tick + 1 })
  }

  /** Draws the newest snapshot with the next frame of the clock. */
  stage(snapshot: Snapshot): void {
    this.#staged = {
      snapshot,
      receivedMono: this.clock.mono(),
      receivedWall: this.clock.now(),
    }
    if (this.#state.ui.paused && this.#state.feed.snapshot !== undefined) return
    if (this.#cancelFrame !== undefined) return
    const wait = this.#publishedMono + this.#period() - this.clock.mono()
    if (wait <= 0) this.flush()
    else this.#cancelFrame = this.clock.after(wait, () => this.flush())
  }

  /** Publishes what was staged now. */
  flush(): void {
    this.#cancelFrame?.()
    this.#cancelFrame = undefined
    const staged = this.#staged
    if (staged?.snapshot === undefined) return
    this.#staged = undefined
    this.#publishedMono = this.clock.mono()
    this.#publish({
      ...this.#state,
      feed: { ...this.#state.feed, ...staged },
      samples: takeSample(this.#state.samples, staged.snapshot, this.clock.mono()),
      ui: settled(this.#state.ui, staged.snapshot),
    })
  }

  close(): void {
    this.#cancelFrame?.()
    this.#listeners.clear()
  }

  #period(): number {
    const idle = this.clock.mono() - this.#lastKeyMono > IDLE_MS
    return idle ? Math.max(IDLE_PERIOD_MS, this.#state.ui.period) : this.#state.ui.period
  }

  #publish(state: ConsoleState): void {
    this.#state = state
    if (this.#batching) this.#dirty = true
    else this.#emit()
  }

  #emit(): void {
    this.#dirty = false
    for (const listener of this.#listeners) listener()
  }
}

/** Cells whose change has become real are no longer on their way. */
function settled(ui: UiState, { placement }: Snapshot): UiState {
  const { pending } = ui.matrix
  const left = [...pending].filter(([, revision]) => revision > placement.revision)
  if (left.length === pending.size) return ui
  return { ...ui, matrix: { ...ui.matrix, pending: new Map(left) } }
}
