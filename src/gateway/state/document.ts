// One persisted JSON document: read once at the start, then written whole. Disk comes first and
// memory second, so that what the gateway does is never ahead of what it would do after a restart.

import { readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { StartError } from '../start-error.ts'
import { codeOf, disk, reasonOf, replaceFile } from './disk.ts'
import type { Disk } from './disk.ts'
import { readText } from './document-form.ts'
import type { DocumentForm } from './document-form.ts'
import { newerFile } from './migrate.ts'
import { Turns } from './turns.ts'

export interface DocumentOptions<T> extends DocumentForm<T> {
  file: string
  disk?: Disk
}

/** The write failed and nothing changed, neither on disk nor in memory. */
export class NotSaved extends Error {
  override readonly name = 'NotSaved'
  readonly file: string

  constructor(file: string, cause: unknown) {
    super(`${file} could not be written, so nothing changed: ${reasonOf(cause)}`, { cause })
    this.file = file
  }
}

export class Document<T> {
  readonly file: string
  readonly #options: DocumentOptions<T>
  /** Where the file really is: a symbolic link to it stays one. */
  readonly #target: string
  #value: T
  #error: string | undefined
  readonly #saves = new Turns()

  constructor(options: DocumentOptions<T>) {
    this.#options = options
    this.file = options.file
    this.#target = targetOf(options.file)
    this.#value = readDocument(options)
  }

  get value(): T {
    return this.#value
  }

  /** Why the newest write failed or may not last; undefined after a good one. */
  get error(): string | undefined {
    return this.#error
  }

  /** Writes the new value, then makes it the current one. Rejects with NotSaved. */
  save(value: T): Promise<void> {
    return this.#saves.take(() => this.#save(value))
  }

  async #save(value: T): Promise<void> {
    const place = { file: this.#target, folder: path.dirname(this.#target) }
    try {
      const text = `${JSON.stringify(value, undefined, 2)}\n`
      this.#error = await replaceFile(place, text, this.#options.disk ?? disk)
    } catch (cause) {
      const error = new NotSaved(this.file, cause)
      this.#error = error.message
      throw error
    }
    this.#value = value
  }
}

function readDocument<T>({ file, ...form }: DocumentOptions<T>): T {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return form.empty
    throw new StartError(`cannot read ${file}: ${reasonOf(cause)}`, 78, { cause })
  }
  const { remedy } = form
  const read = readText(text, form)
  if (read.ok) return read.value
  if ('newer' in read) {
    throw newerFile({ file, written: read.newer, newest: read.newest, remedy })
  }
  const message = `${file} is broken: ${read.broken}. Repair it, bring it back from a backup, or ${remedy}`
  throw new StartError(message, 78, { cause: read.cause })
}

function targetOf(file: string): string {
  try {
    return realpathSync(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return file
    throw new StartError(`cannot read ${file}: ${reasonOf(error)}`, 78, { cause: error })
  }
}
