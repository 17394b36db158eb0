// Keeps bodies up to a number of bytes; what was not asked for longest goes first.

export class ByteLru {
  readonly #maxBytes: number
  readonly #bodies = new Map<string, Buffer>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  get(key: string): Buffer | undefined {
    const body = this.#bodies.get(key)
    if (body === undefined) return undefined
    this.#bodies.delete(key)
    this.#bodies.set(key, body)
    return body
  }

  /** A body that is greater than the whole is not kept. */
  set(key: string, body: Buffer): void {
    this.delete(key)
    if (body.length > this.#maxBytes) return
    this.#bodies.set(key, body)
    this.#bytes += body.length
    for (const oldest of this.#bodies.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    const body = this.#bodies.get(key)
    if (body === undefined) return
    this.#bodies.delete(key)
    this.#bytes -= body.length
  }
}
