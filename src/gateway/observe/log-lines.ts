// Lines of the log on their way to stderr, many in one write. Nothing that becomes of stderr may
// stop the gateway: a full disk loses the lines that met it, a reader that has stopped those beyond
// the backlog, and the lines after them are tried again, each on a line of its own.

import { write, writeSync } from 'node:fs'

/** What a reader of stderr that has stopped may hold back; lines beyond it are dropped. */
const MAX_BACKLOG = 4 * 1024 * 1024
/** Lines of busy times are written together: a write for each would be a tenth of a request's cost. */
const TOGETHER = 16_000
const PAUSE_MS = 100
/** How long the end of the process waits for a reader. */
const LAST_WAIT_MS = 1_000
const LINE_FEED = 0x0a

export interface LineFile {
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void
  writeSync(bytes: Buffer): number
}

export const stderrFile: LineFile = {
  write: (bytes, done) => write(2, bytes, done),
  writeSync: (bytes) => writeSync(2, bytes),
}

export class LogLines {
  readonly #file: LineFile
  #lines: string[] = []
  /** Characters of the lines. */
  #waiting = 0
  /** Bytes that are being written, or are to be written again. */
  #underWay = 0
  /** What is to be written again, because nobody took it. */
  #refused: Buffer | undefined
  #writing = false
  /** What was written ends within a line: the disk was full before its end. */
  #withinLine = false
  #timer: NodeJS.Timeout | undefined

  constructor(file: LineFile) {
    this.#file = file
  }

  write(line: string): void {
    if (this.#waiting + this.#underWay + line.length > MAX_BACKLOG) return
    this.#lines.push(line)
    this.#waiting += line.length
    this.#next()
  }

  /** Writes what it can before the process ends. */
  flushSync(): void {
    const refused = this.#refused ?? Buffer.alloc(0)
    if (this.#refused !== undefined) this.#over()
    // It begins where the line was broken off, and brings it to its end.
    if (refused.length > 0) this.#withinLine = false
    let rest = Buffer.concat([refused, this.#taken()])
    const deadline = performance.now() + LAST_WAIT_MS
    while (rest.length > 0) {
      try {
        rest = rest.subarray(this.#file.writeSync(rest))
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS / 10)
      }
    }
  }

  #next(): void {
    if (this.#writing) return
    if (this.#waiting >= TOGETHER) this.#send(this.#taken())
    else if (this.#waiting > 0) this.#later(() => this.#send(this.#taken()))
  }

  #later(action: () => void): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      action()
    }, PAUSE_MS).unref()
  }

  #taken(): Buffer {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const begin = this.#withinLine && this.#lines.length > 0 ? '\n' : ''
    const bytes = Buffer.from(begin + this.#lines.join(''))
    this.#lines = []
    this.#waiting = 0
    return bytes
  }

  #send(bytes: Buffer): void {
    this.#writing = true
    this.#underWay = bytes.length
    this.#file.write(bytes, (error, written) => {
      if (written > 0) this.#withinLine = bytes[written - 1] !== LINE_FEED
      if (isBusy(error)) {
        this.#refused = bytes
        this.#later(() => this.#again())
      } else if (error === null && written < bytes.length) {
        this.#send(bytes.subarray(written))
      } else {
        this.#over()
        this.#next()
      }
    })
  }

  #again(): void {
    const bytes = this.#refused ?? Buffer.alloc(0)
    this.#refused = undefined
    this.#send(bytes)
  }

  #over(): void {
    this.#writing = false
    this.#refused = undefined
    this.#underWay = 0
  }
}

/** A pipe that is full, and may be empty again. */
function isBusy(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'EAGAIN' || error.code === 'EBUSY'
}
