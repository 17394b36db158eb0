// Every placement edit, one JSON line each, with what undo needs. The entry is written before the
// document that it belongs to: an entry above the document's revision never took effect and is left
// out at the next start. A line that cannot be read costs its edit, not the start: it is told, and
// set aside in a file of its own before the history is written anew.

import { appendFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { StartError } from '../start-error.ts'
import { codeOf, disk, messageOf, replaceFile } from './disk.ts'
import { NotSaved } from './document.ts'
import { LINE_VERSION, refuseNewerLines } from './line-version.ts'
import { versionOf } from './migrate.ts'
import { StoredRules } from './placement-document.ts'

const Side = z.array(z.strictObject({ worker: z.string(), rules: StoredRules.nullable() }))

const Entry = z.strictObject({
  /** The revision that the edit made. */
  id: z.int().min(1),
  at: z.string(),
  actor: z.string(),
  operation: z.string(),
  before: Side,
  after: Side,
  undoes: z.int().nullable(),
})
export type HistoryEntry = z.infer<typeof Entry>

/** Lines of version 1 may lack it. */
const StoredLine = Entry.extend({ version: z.literal(LINE_VERSION).optional() })

const KEPT = 1_000
/** For a file that cannot be read by this ogw. */
const REMEDY = 'move it away to start without a history of edits'
/** The file is written anew only now and then: a rewrite costs as much as a thousand edits. */
const COMPACT_AT = 2 * KEPT

export class PlacementHistory {
  readonly #file: string
  readonly #onTrouble: (problem: string) => void
  #entries: HistoryEntry[]
  #lines: number
  /** The file ends within a line: the next entry begins on one of its own. */
  #torn: boolean
  #broken: readonly BrokenLine[]

  /** Reads what took effect up to that revision. Throws StartError. */
  constructor(file: string, revision: number, onTrouble: (problem: string) => void = () => {}) {
    this.#file = file
    this.#onTrouble = onTrouble
    const text = textOf(file)
    const lines = text
      .split('\n')
      .map(readLine)
      .filter(({ text: line }) => line !== '')
    refuseNewerLines(file, Math.max(1, ...lines.map(({ version }) => version)), REMEDY)
    this.#torn = text !== '' && !text.endsWith('\n')
    this.#lines = lines.length
    this.#entries = effective(
      lines.flatMap(({ entry }) => entry ?? []),
      revision,
    )
    this.#broken = brokenLines(lines, revision)
    if (this.trouble !== undefined) onTrouble(this.trouble)
  }

  /** What is wrong with the file, in a sentence; undefined where nothing is. */
  get trouble(): string | undefined {
    if (this.#broken.length === 0) return undefined
    const numbers = this.#broken.slice(0, MAX_TOLD).map(({ number }) => number)
    const more = this.#broken.length > MAX_TOLD ? ` and ${this.#broken.length - MAX_TOLD} more` : ''
    const which = `line${this.#broken.length > 1 ? 's' : ''} ${numbers.join(', ')}${more}`
    return `${this.#file}: ${which} cannot be read, so history and undo lack what stood there`
  }

  /** Oldest first, the newest 1,000. */
  entries(): readonly HistoryEntry[] {
    return this.#entries
  }

  /** On disk before the document is. Rejects with NotSaved. */
  async write(entry: HistoryEntry): Promise<void> {
    try {
      if (this.#lines >= COMPACT_AT) await this.#compact()
      const line = `${this.#torn ? '\n' : ''}${lineOf(entry)}`
      await appendFile(this.#file, line, { mode: 0o600, flush: true })
      this.#torn = false
      this.#lines += 1
    } catch (cause) {
      this.#torn = true
      throw new NotSaved(this.#file, cause)
    }
  }

  /** The document is written: the entry took effect. */
  commit(entry: HistoryEntry): void {
    this.#entries = [...this.#entries, entry].slice(-KEPT)
  }

  async #compact(): Promise<void> {
    await this.#setAside()
    const text = this.#entries.map(lineOf).join('')
    await replaceFile({ file: this.#file, folder: path.dirname(this.#file) }, text, disk)
    this.#lines = this.#entries.length
  }

  /** The rewritten file holds entries only: what a person may still mend goes beside it first. */
  async #setAside(): Promise<void> {
    if (this.#broken.length === 0) return
    const text = this.#broken.map((line) => `${line.text}\n`).join('')
    const file = `${this.#file}.broken`
    await appendFile(file, text, { mode: 0o600, flush: true })
    const count = this.#broken.length
    this.#broken = []
    const lines =
      count === 1 ? '1 line that cannot be read is' : `${count} lines that cannot be read are`
    this.#onTrouble(`${this.#file} is written anew; ${lines} in ${file}`)
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return ''
    throw new StartError(`cannot read ${file}: ${messageOf(cause)}`, 78, { cause })
  }
}

interface Line {
  text: string
  /** As an editor counts. */
  number: number
  /** Undefined = it is none. */
  entry: HistoryEntry | undefined
  /** Of its form; 1 where it says none. */
  version: number
  /** It is not even JSON, as the end of a write that a kill cut short. */
  cut: boolean
}
type BrokenLine = Pick<Line, 'text' | 'number'>

/** Line numbers in one message. */
const MAX_TOLD = 10

function lineOf(entry: HistoryEntry): string {
  return `${JSON.stringify({ version: LINE_VERSION, ...entry })}\n`
}

function readLine(text: string, index: number): Line {
  const line = { text, number: index + 1 }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    // Not JSON: the caller judges what that means.
    return { ...line, version: 1, entry: undefined, cut: true }
  }
  const read = StoredLine.safeParse(json)
  const entry = read.success ? withoutVersion(read.data) : undefined
  return { ...line, version: versionOf(json) ?? 1, entry, cut: false }
}

function withoutVersion({ version: _version, ...entry }: z.infer<typeof StoredLine>): HistoryEntry {
  return entry
}

/**
 * The lines that are no entries, but for those that a kill left: nothing is missing there, since
 * their edit did not happen and the next one took its id.
 */
function brokenLines(lines: readonly Line[], revision: number): BrokenLine[] {
  const broken: BrokenLine[] = []
  let before = 0
  let since: Line[] = []
  const closeGap = (next: number): void => {
    const missing = next > before + 1
    broken.push(...since.filter(({ cut }) => missing || !cut))
    since = []
  }
  for (const line of lines) {
    if (line.entry === undefined) {
      since.push(line)
      continue
    }
    closeGap(line.entry.id)
    before = line.entry.id
  }
  closeGap(revision + 1)
  return broken.map(({ text, number }) => ({ text, number }))
}

/** Two lines of one id: the first edit failed after its line was written, the second succeeded. */
function effective(entries: readonly HistoryEntry[], revision: number): HistoryEntry[] {
  const byId = new Map<number, HistoryEntry>()
  for (const entry of entries) {
    byId.delete(entry.id) // so that the newer line also stands later
    if (entry.id <= revision) byId.set(entry.id, entry)
  }
  return [...byId.values()].toSorted((a, b) => a.id - b.id).slice(-KEPT)
}
