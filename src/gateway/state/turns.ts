// Changes of one document, one after the other: each sees what the one before it left.

export class Turns {
  #last: Promise<unknown> = Promise.resolve()

  /** Begins when those asked for before have ended, however they did. */
  take<T>(act: () => T | Promise<T>): Promise<T> {
    const done = this.#last.then(act)
    this.#last = done.catch(() => {}) // told to its own caller; the next one has its own try
    return done
  }
}
