// Runs at most so many things at once; the others wait in the order they came.

export class Bounded {
  readonly #most: number
  #running = 0
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#most = most
  }

  async run<T>(action: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#most) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else {
      this.#running += 1
    }
    try {
      return await action()
    } finally {
      // The place is handed over, not given back and taken again: nobody can overtake.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running -= 1
      else next()
    }
  }
}
