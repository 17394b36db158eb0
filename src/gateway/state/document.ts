// One persisted JSON document: read once at the start, then written whole. Disk comes first and
// memory second, so that what the gateway does is never ahead of what it would do after a restart.

import { readFileSync, realpathSync } from 'node:fs'
import path from 'node:path'
import type { z } from 'zod'
import { StartError } from '../start-error.ts'
import { codeOf, disk, messageOf, replaceFile } from './disk.ts'
import type { Disk } from './disk.ts'
import { migrate } from './migrate.ts'
import type { Versions } from './migrate.ts'
import { Turns } from './turns.ts'

export interface DocumentOptions<T> extends Versions {
  file: string
  /** Checks what is on disk. A document has a `version`, so that it can change its form later. */
  schema: z.ZodType<T>
  /** The value while there is no file. */
  empty: T
  /** What an operator may do when the file is broken, as in `move it away to start without …`. */
  remedy: string
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

function readDocument<T>({ file, schema, empty, remedy, ...versions }: DocumentOptions<T>): T {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return empty
    throw new StartError(`cannot read ${file}: ${reasonOf(cause)}`, 78, { cause })
  }
  const broken = (where: string, cause?: unknown): StartError =>
    new StartError(
      `${file} is broken: ${where}. Repair it, bring it back from a backup, or ${remedy}`,
      78,
      { cause },
    )
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw broken(text.trim() === '' ? 'it is empty' : jsonPlace(text, messageOf(cause)), cause)
  }
  const parsed = schema.safeParse(migrate(file, value, { ...versions, remedy }))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const place = issue?.path.map(String).join('.') ?? ''
  throw broken(`${place === '' ? 'the whole' : place}: ${issue?.message}`)
}

/** V8 counts characters; people count lines. */
function jsonPlace(text: string, message: string): string {
  const position = /position (\d+)/.exec(message)?.[1]
  if (position === undefined || message.includes('line')) return message
  const before = text.slice(0, Number(position)).split('\n')
  return `${message} (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`
}

function targetOf(file: string): string {
  try {
    return realpathSync(file)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return file
    throw new StartError(`cannot read ${file}: ${reasonOf(error)}`, 78, { cause: error })
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'the user that runs the gateway has no right to it',
  EPERM: 'the user that runs the gateway has no right to it',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ENOENT: 'the folder is gone',
}

function reasonOf(cause: unknown): string {
  const known = REASONS[codeOf(cause)]
  return known === undefined ? messageOf(cause) : `${known} (${messageOf(cause)})`
}
