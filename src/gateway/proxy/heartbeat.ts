// Keeps a waiting SSE client's connection alive with comments, which SDKs skip. The first one
// commits status 200; only comments are sent before the worker's first byte, so that another
// worker may still take over. NDJSON has no such filler: a blank line breaks its clients.

import type { Clock, Timer } from '../clock.ts'
import type { ClientStream } from './client-stream.ts'

export class Heartbeat {
  #timer: Timer | undefined
  readonly #clock: Clock
  readonly #client: ClientStream
  readonly #frame: Buffer
  readonly #everyMs: number

  /** `frame` is one that every client of the dialect skips. */
  constructor(clock: Clock, client: ClientStream, frame: string, everyMs: number) {
    this.#clock = clock
    this.#client = client
    this.#frame = Buffer.from(frame)
    this.#everyMs = everyMs
    this.#arm()
  }

  /** Called before the first byte of the answer: from then on frames may be open. */
  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #arm(): void {
    this.#timer = this.#clock.after(this.#everyMs, () => this.#beat())
  }

  #beat(): void {
    if (this.#client.gone) return
    if (!this.#client.committed) {
      this.#client.startStream(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache',
      })
    }
    this.#client.write(this.#frame)
    this.#arm()
  }
}
