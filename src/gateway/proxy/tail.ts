// The last bytes of an answer, copied aside while it passes: usage numbers and terminators stand at
// its end, so nothing has to be parsed on the way. They are copied because a stream is many small
// chunks, and an object kept for each of them takes three times their bytes.

/** Enough for the last events of every dialect; a longer final line has its counts at its end. */
export const TAIL_BYTES = 8 * 1024
/** Room past the tail, so that it moves to the front once in so many bytes and not for each chunk. */
const SLACK_BYTES = 2 * 1024
const FIRST_BYTES = 1024

export class Tail {
  #kept = Buffer.alloc(0)
  #length = 0

  push(chunk: Buffer): void {
    const part = chunk.length > TAIL_BYTES ? chunk.subarray(chunk.length - TAIL_BYTES) : chunk
    if (part !== chunk) this.#length = 0
    if (this.#length + part.length > TAIL_BYTES + SLACK_BYTES) this.#forget(part.length)
    if (this.#length + part.length > this.#kept.length) this.#grow(this.#length + part.length)
    part.copy(this.#kept, this.#length)
    this.#length += part.length
  }

  /** The last TAIL_BYTES of what was pushed at least, or all of it; valid until the next push. */
  bytes(): Buffer {
    return this.#kept.subarray(0, this.#length)
  }

  /** Keeps what makes a whole tail with the bytes that come. */
  #forget(coming: number): void {
    const keep = Math.min(this.#length, TAIL_BYTES - coming)
    this.#kept.copyWithin(0, this.#length - keep, this.#length)
    this.#length = keep
  }

  #grow(needed: number): void {
    const size = Math.min(Math.max(FIRST_BYTES, 2 * needed), TAIL_BYTES + SLACK_BYTES)
    const kept = Buffer.allocUnsafe(size)
    this.#kept.copy(kept, 0, 0, this.#length)
    this.#kept = kept
  }
}
