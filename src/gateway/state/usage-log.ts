// Who used how much, as JSON lines kept for 90 days: one line a second for each tenant, actor and
// model that had a request. A disk that fails is told and stops nobody.

import { createReadStream } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { appendLines } from '../append-lines.ts'
import type { Clock, Timer } from '../clock.ts'
import { codeOf, messageOf, replaceFile } from './disk.ts'
import { LINE_VERSION, refuseNewerLines, tailOf, versionOfLast } from './line-version.ts'

/** What is known of a request once it is over. */
export interface UsedTokens {
  tenant: string
  actor: string
  model: string
  promptTokens: number
  outputTokens: number
}

const Line = z.object({
  /** Wall clock in milliseconds. */
  at: z.number(),
  tenant: z.string(),
  actor: z.string(),
  model: z.string(),
  requests: z.number(),
  prompt_tokens: z.number(),
  output_tokens: z.number(),
})
type Line = z.infer<typeof Line>

export type UsageKey = 'tenant' | 'actor' | 'model'

export interface UsageTotal {
  name: string
  requests: number
  prompt_tokens: number
  output_tokens: number
}

/** For a file that cannot be read by this ogw. */
const REMEDY = 'move it away to start with nothing summed up'

const WRITE_AFTER_MS = 1_000
const RETRY_MS = 10_000
export const KEPT_MS = 90 * 86_400_000
const PRUNE_EVERY_MS = 86_400_000
const PIECE_CHARS = 64 * 1024
/** Rows in memory while the disk fails, and names in one answer. */
const MAX_ROWS = 50_000

export class UsageLog {
  readonly #file: string
  readonly #clock: Clock
  #pending = new Map<string, Line>()
  #timer: Timer | undefined
  #writing: Promise<void> = Promise.resolve()
  #prunedAt = Number.NEGATIVE_INFINITY
  #error: string | undefined

  /**
   * Makes nothing: the file comes with the first request. Throws StartError where a newer ogw has
   * written to it.
   */
  constructor(file: string, clock: Clock) {
    refuseNewerLines(file, versionOfLast(tailOf(file)), REMEDY)
    this.#file = file
    this.#clock = clock
  }

  /** Why lines cannot be written at present. */
  get error(): string | undefined {
    return this.#error
  }

  /** Requests without tokens count for nothing. Never throws. */
  book({ tenant, actor, model, promptTokens, outputTokens }: UsedTokens): void {
    if (promptTokens + outputTokens === 0) return
    const at = this.#clock.now()
    const counts = { requests: 1, prompt_tokens: promptTokens, output_tokens: outputTokens }
    add(this.#pending, { at, tenant, actor, model, ...counts })
    this.#plan(this.#error === undefined ? WRITE_AFTER_MS : RETRY_MS)
  }

  /** Since a wall clock time, the greatest first. */
  async totals(by: UsageKey, since: number): Promise<UsageTotal[]> {
    await this.flush()
    const totals = new Map<string, UsageTotal>()
    const add = (line: Line): void => {
      if (line.at < since) return
      const name = by === 'actor' ? `${line.tenant}/${line.actor}` : line[by]
      if (!totals.has(name) && totals.size >= MAX_ROWS) return
      const total = totals.get(name) ?? { name, requests: 0, prompt_tokens: 0, output_tokens: 0 }
      total.requests += line.requests
      total.prompt_tokens += line.prompt_tokens
      total.output_tokens += line.output_tokens
      totals.set(name, total)
    }
    for await (const line of this.#lines()) add(line)
    for (const line of this.#pending.values()) add(line)
    const size = (of: UsageTotal): number => of.prompt_tokens + of.output_tokens
    return [...totals.values()].toSorted((a, b) => size(b) - size(a))
  }

  /** Writes what is not written yet. Never rejects. */
  flush(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#writing = this.#writing.then(() => this.#writeOut())
    return this.#writing
  }

  #plan(ms: number): void {
    this.#timer ??= this.#clock.after(ms, () => {
      this.#timer = undefined
      void this.flush()
    })
  }

  async #writeOut(): Promise<void> {
    if (this.#pending.size === 0) return
    const lines = this.#pending
    this.#pending = new Map()
    try {
      await this.#prune()
      await appendLines(this.#file, [...lines.values()].map(textOf).join(''))
      this.#error = undefined
    } catch (error) {
      this.#error = `cannot write ${this.#file}: ${messageOf(error)}`
      for (const line of this.#pending.values()) add(lines, line)
      this.#pending = lines
      this.#plan(RETRY_MS)
    }
  }

  /**
   * Once a day and after the start: lines that are too old go. The newest line counts as now where
   * it is older: a clock that was set wrong for an hour may not cost 90 days.
   */
  async #prune(): Promise<void> {
    if (this.#clock.mono() - this.#prunedAt < PRUNE_EVERY_MS) return
    this.#prunedAt = this.#clock.mono()
    let [first, newest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for await (const { at } of this.#lines()) {
      first = Math.min(first, at)
      newest = Math.max(newest, at)
    }
    const oldest = Math.min(this.#clock.now(), newest) - KEPT_MS
    if (first >= oldest) return
    const place = { file: this.#file, folder: path.dirname(this.#file) }
    await replaceFile(place, this.#linesSince(oldest))
  }

  /** In pieces that are worth a write of their own. */
  async *#linesSince(oldest: number): AsyncGenerator<Uint8Array> {
    let text = ''
    for await (const line of this.#lines()) {
      if (line.at < oldest) continue
      text += textOf(line)
      if (text.length < PIECE_CHARS) continue
      yield Buffer.from(text)
      text = ''
    }
    yield Buffer.from(text)
  }

  /** A line that is broken, as a killed process leaves its last one, is skipped. */
  async *#lines(): AsyncGenerator<Line> {
    const input = createReadStream(this.#file, 'utf8')
    try {
      for await (const text of createInterface({ input, crlfDelay: Infinity })) {
        const line = lineOf(text)
        if (line !== undefined) yield line
      }
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error // not there: nothing was used yet
    } finally {
      input.destroy()
    }
  }
}

/** Into the line of the same tenant, actor and model, where there is one. */
function add(lines: Map<string, Line>, more: Line): void {
  const key = JSON.stringify([more.tenant, more.actor, more.model])
  const line = lines.get(key)
  if (line === undefined) {
    if (lines.size < MAX_ROWS) lines.set(key, { ...more })
    return
  }
  line.requests += more.requests
  line.prompt_tokens += more.prompt_tokens
  line.output_tokens += more.output_tokens
}

function textOf(line: Line): string {
  return `${JSON.stringify({ version: LINE_VERSION, ...line })}\n`
}

function lineOf(text: string): Line | undefined {
  try {
    return Line.safeParse(JSON.parse(text)).data
  } catch {
    return undefined // half a line: its neighbours are whole
  }
}
