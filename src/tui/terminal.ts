// The terminal beside drawing: giving it back and taking it again, whatever happens.

import { once } from 'node:events'
import type { TerminalControl } from './console.ts'

/** What the terminal library offers once it runs. */
export interface TerminalLibrary {
  /** Forgets what it believes to be on the screen. */
  clear(): void
  exit(): void
  suspendTerminal(run: () => void | Promise<void>): Promise<void>
}

export interface TerminalParts {
  stdout: NodeJS.WriteStream
  /** Draws once more. */
  tick(): void
  /** Keys that arrived while another program had the terminal are not ours. */
  ignoreKeys(ms: number): void
}

const IGNORE_AFTER_LENDING_MS = 50

/** Everything that could be left switched on: mouse, focus, paste, a hidden cursor. */
export const RESTORE =
  '\u001b[?1000l\u001b[?1002l\u001b[?1006l\u001b[?1004l\u001b[?2004l\u001b[?25h'

export class Terminal implements TerminalControl {
  readonly #parts: TerminalParts
  #library: TerminalLibrary | undefined
  #away = false

  constructor(parts: TerminalParts) {
    this.#parts = parts
  }

  attach(library: TerminalLibrary): void {
    this.#library = library
  }

  size(): { columns: number; rows: number } {
    const { columns, rows } = this.#parts.stdout
    return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 }
  }

  redraw(): void {
    this.#library?.clear()
    this.#parts.tick()
  }

  write(codes: string): void {
    this.#parts.stdout.write(codes)
  }

  quit(): void {
    this.#library?.exit()
  }

  suspend(): void {
    void this.#giveAway(stopUntilContinued)
  }

  async lend(run: () => void): Promise<void> {
    await this.#giveAway(run)
    this.#parts.ignoreKeys(IGNORE_AFTER_LENDING_MS)
  }

  async #giveAway(meanwhile: () => void | Promise<void>): Promise<void> {
    if (this.#away || this.#library === undefined) return
    this.#away = true
    try {
      await this.#library.suspendTerminal(meanwhile)
    } finally {
      this.#away = false
      this.redraw()
    }
  }
}

/** Stops this process as Ctrl-Z does elsewhere. A timer keeps it alive over the moment it wakes up. */
async function stopUntilContinued(): Promise<void> {
  const alive = setInterval(() => {}, 1_000)
  const continued = once(process, 'SIGCONT')
  process.kill(process.pid, 'SIGTSTP')
  await continued
  clearInterval(alive)
}
