// Who changed what, as one JSON line each, in a file that is rotated. Off every path that someone
// waits for: entries are buffered and written in the background, and a disk that fails is a flag
// in the status, never an exception. Never a prompt, never an answer.

import { open, rename, stat } from 'node:fs/promises'
import { appendLines } from '../append-lines.ts'
import type { Clock, Timer } from '../clock.ts'
import type { RequestRecord } from './request-record.ts'

export interface AuditOptions {
  file: string
  /** The file is rotated before it grows beyond this. */
  maxBytes: number
  /** Rotated files that are kept: FILE.1 is the newest. */
  keep: number
}

export interface AuditLog {
  /** Buffers one entry; `at` is added. Never throws. */
  write(entry: Readonly<Record<string, unknown>>): void
  /** The newest entries that `read` makes something of, newest first, from the current file. */
  recent<T>(limit: number, read: (entry: unknown) => T | undefined): Promise<T[]>
  /** Writes what is buffered. Never rejects. */
  flush(): Promise<void>
  /** Why entries cannot be written at present; undefined while they can. */
  readonly error: string | undefined
  /** Entries dropped because the disk failed for too long. */
  readonly dropped: number
}

/** How long an entry may wait for company. A crash loses at most these. */
const WRITE_AFTER_MS = 200
/** A disk that fails for hours must not fill the memory: beyond this the oldest go. */
const MAX_BUFFERED = 10_000
/** An entry is cut to this; an apply of 1,000 workers would otherwise be a page of megabytes. */
const MAX_ENTRY_BYTES = 256 * 1024
/** How much of the end of the file `recent` reads. */
const TAIL_BYTES = 4 * 1024 * 1024
/** Between two tries while the disk fails. */
const RETRY_MS = 5_000

/** Opens nothing: the file is made by the first entry, for its owner only. */
export function openAuditLog(options: AuditOptions, clock: Clock): AuditLog {
  return new FileAuditLog(options, clock)
}

/** One metadata line a request, for `audit.requests`: a sink for the observer. */
export function requestAudit(log: AuditLog): (record: RequestRecord) => void {
  return (record) => log.write({ request: record })
}

/** For `"file": null`: every entry is let go. */
export const noAuditLog: AuditLog = {
  write() {},
  recent: () => Promise.resolve([]),
  flush: () => Promise.resolve(),
  error: undefined,
  dropped: 0,
}

class FileAuditLog implements AuditLog {
  readonly #options: AuditOptions
  readonly #clock: Clock
  #buffer: string[] = []
  #timer: Timer | undefined
  #writing: Promise<void> = Promise.resolve()
  #error: string | undefined
  #dropped = 0

  constructor(options: AuditOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  get error(): string | undefined {
    return this.#error
  }

  get dropped(): number {
    return this.#dropped
  }

  write(entry: Readonly<Record<string, unknown>>): void {
    this.#buffer.push(lineOf({ at: new Date(this.#clock.now()).toISOString(), ...entry }))
    if (this.#buffer.length > MAX_BUFFERED) {
      this.#buffer.shift()
      this.#dropped += 1
    }
    this.#plan(this.#error === undefined ? WRITE_AFTER_MS : RETRY_MS)
  }

  async recent<T>(limit: number, read: (entry: unknown) => T | undefined): Promise<T[]> {
    await this.flush()
    const text = await tailOf(this.#options.file).catch(() => '') // not there yet, or flagged
    const lines = [...text.split('\n'), ...this.#buffer.map((line) => line.trimEnd())]
    const entries = lines.flatMap(parsed).flatMap((entry) => read(entry) ?? [])
    return entries.slice(-limit).toReversed()
  }

  flush(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#writeOut())
    return this.#writing
  }

  #plan(ms: number): void {
    this.#timer ??= this.#clock.after(ms, () => {
      void this.flush()
    })
  }

  async #writeOut(): Promise<void> {
    const lines = this.#buffer
    if (lines.length === 0) return
    this.#buffer = []
    try {
      const text = lines.join('')
      await this.#rotate(Buffer.byteLength(text))
      await appendLines(this.#options.file, text)
      this.#error = undefined
    } catch (error) {
      this.#error = `cannot write ${this.#options.file}: ${messageOf(error)}`
      this.#buffer = [...lines, ...this.#buffer]
      this.#plan(RETRY_MS)
    }
  }

  async #rotate(bytes: number): Promise<void> {
    const { file, maxBytes, keep } = this.#options
    const size = await sizeOf(file)
    if (size === 0 || size + bytes <= maxBytes) return
    for (let index = keep - 1; index >= 1; index -= 1) {
      await renameIfThere(`${file}.${index}`, `${file}.${index + 1}`)
    }
    await renameIfThere(file, `${file}.1`)
  }
}

function lineOf(entry: Readonly<Record<string, unknown>>): string {
  const line = `${JSON.stringify(entry)}\n`
  if (Buffer.byteLength(line) <= MAX_ENTRY_BYTES) return line
  const short = { ...entry, input: null, before: null, after: null, cut: true }
  return `${JSON.stringify(short)}\n`
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size
  } catch (error) {
    if (isMissing(error)) return 0
    throw error
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if (!isMissing(error)) throw error // a gap in the row of files is no fault
  }
}

async function tailOf(file: string): Promise<string> {
  await using handle = await open(file, 'r')
  const { size } = await handle.stat()
  const from = Math.max(0, size - TAIL_BYTES)
  const buffer = Buffer.alloc(size - from)
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, from)
  const text = buffer.toString('utf8', 0, bytesRead)
  // Cut within a line, the first one is only an end.
  return from === 0 ? text : text.slice(text.indexOf('\n') + 1)
}

/** The last line of a gateway that was killed may be half of one: it is left out. */
function parsed(line: string): unknown[] {
  if (line === '') return []
  try {
    return [JSON.parse(line)]
  } catch {
    return [] // the broken line; its neighbours are whole
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
