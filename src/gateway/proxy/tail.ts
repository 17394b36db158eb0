// The last bytes of an answer, kept by reference while it passes: usage numbers and terminators
// stand at its end, so nothing has to be parsed on the way.

/** Enough for the last events of every dialect; a longer final line has its counts at its end. */
export const TAIL_BYTES = 16 * 1024

export class Tail {
  #older: Buffer[] = []
  #newer: Buffer[] = []
  #newerBytes = 0

  push(chunk: Buffer): void {
    if (this.#newerBytes >= TAIL_BYTES) {
      this.#older = this.#newer
      this.#newer = []
      this.#newerBytes = 0
    }
    this.#newer.push(chunk)
    this.#newerBytes += chunk.length
  }

  /** At least the last TAIL_BYTES of what was pushed, or all of it. */
  bytes(): Buffer {
    const all = Buffer.concat([...this.#older, ...this.#newer])
    return all.length > 4 * TAIL_BYTES ? all.subarray(all.length - 4 * TAIL_BYTES) : all
  }
}
