// Every placement edit, one JSON line each, with what undo needs. The entry is written before the
// document that it belongs to: an entry above the document's revision never took effect and is left
// out at the next start.

import { appendFile } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { StartError } from '../start-error.ts'
import { codeOf, disk, messageOf, replaceFile } from './disk.ts'
import { NotSaved } from './document.ts'
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

const KEPT = 1_000
/** The file is written anew only now and then: a rewrite costs as much as a thousand edits. */
const COMPACT_AT = 2 * KEPT

export class PlacementHistory {
  readonly #file: string
  #entries: HistoryEntry[]
  #lines: number
  /** The file ends within a line: the next entry begins on one of its own. */
  #torn: boolean

  /** Reads what took effect up to that revision. Throws StartError. */
  constructor(file: string, revision: number) {
    this.#file = file
    const text = textOf(file)
    const lines = text.split('\n').filter((line) => line !== '')
    this.#torn = text !== '' && !text.endsWith('\n')
    this.#lines = lines.length
    this.#entries = effective(lines.flatMap(parsed), revision)
  }

  /** Oldest first, the newest 1,000. */
  entries(): readonly HistoryEntry[] {
    return this.#entries
  }

  /** On disk before the document is. Rejects with NotSaved. */
  async write(entry: HistoryEntry): Promise<void> {
    try {
      if (this.#lines >= COMPACT_AT) await this.#compact()
      const line = `${this.#torn ? '\n' : ''}${JSON.stringify(entry)}\n`
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
    const text = this.#entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
    await replaceFile({ file: this.#file, folder: path.dirname(this.#file) }, text, disk)
    this.#lines = this.#entries.length
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

/** The end of a write that a kill cut short is no entry; its edit did not happen. */
function parsed(line: string): HistoryEntry[] {
  try {
    const entry = Entry.safeParse(JSON.parse(line))
    return entry.success ? [entry.data] : []
  } catch {
    return [] // not JSON: the torn line, or one that somebody edited; undo then has less to go back to
  }
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
