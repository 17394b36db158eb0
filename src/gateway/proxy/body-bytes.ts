// The pieces of a request body on their way to being one buffer. A large one is put together as it
// comes: joining 100 MiB at its end would hold up every stream of the gateway for a quarter second.

/** Below this the pieces are kept and joined at the end; few bodies have more than one. */
const LARGE_BYTES = 1024 * 1024

export class BodyBytes {
  readonly #announced: number
  readonly #most: number
  #pieces: Buffer[] = []
  #whole: Buffer | undefined
  #length = 0

  /** `announced`: the content-length, NaN where there is none. `most`: what may come at most. */
  constructor(announced: number, most: number) {
    this.#announced = announced
    this.#most = most
  }

  get length(): number {
    return this.#length
  }

  /** The caller has seen to it that the sum stays within `most`. */
  push(piece: Buffer): void {
    const length = this.#length + piece.length
    if (length <= LARGE_BYTES) this.#pieces.push(piece)
    else piece.copy(this.#roomFor(length), this.#length)
    this.#length = length
  }

  /** All of it. Nothing may be pushed afterwards. */
  joined(): Buffer {
    if (this.#whole !== undefined) return this.#whole.subarray(0, this.#length)
    const [only] = this.#pieces
    if (this.#pieces.length === 1 && only !== undefined) return only
    return Buffer.concat(this.#pieces, this.#length)
  }

  /** Memory that nobody has written to costs nothing yet, so the announced length is believed. */
  #roomFor(length: number): Buffer {
    const before = this.#whole
    if (before !== undefined && before.length >= length) return before
    const known = Number.isInteger(this.#announced) && this.#announced >= length
    const size = known ? this.#announced : Math.min(this.#most, 2 * length)
    const whole = Buffer.allocUnsafeSlow(Math.max(size, length))
    if (before === undefined) Buffer.concat(this.#pieces.splice(0)).copy(whole)
    else before.copy(whole, 0, 0, this.#length)
    this.#whole = whole
    return whole
  }
}
