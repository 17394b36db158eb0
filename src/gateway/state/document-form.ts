// What one persisted JSON document looks like, and how its text becomes a value. It reads no file:
// the gateway asks at its start, and a restore asks before it has touched anything.

import type { z } from 'zod'
import { messageOf } from './disk.ts'
import { migrate, versionOf } from './migrate.ts'
import type { Versions } from './migrate.ts'

export interface DocumentForm<T> extends Versions {
  /** Checks what is on disk. A document has a `version`, so that it can change its form later. */
  schema: z.ZodType<T>
  /** The value while there is no file. */
  empty: T
  /** What an operator may do when the file is broken, as in `move it away to start without …`. */
  remedy: string
}

export type Reading<T> =
  /** `version`: the one it was written in. */
  | { ok: true; value: T; version: number | null }
  /** Written by a newer ogw, in that version. */
  | { ok: false; newer: number; newest: number }
  /** Where and what, as in `keys.0.id: expected string`. */
  | { ok: false; broken: string; cause?: unknown }

/** Reads a document of this or any older version; an editor may have put a byte order mark in front. */
export function readText<T>(text: string, form: DocumentForm<T>): Reading<T> {
  let json: unknown
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (cause) {
    const broken = text.trim() === '' ? 'it is empty' : jsonPlace(text, messageOf(cause))
    return { ok: false, broken, cause }
  }
  const newest = form.version ?? 1
  const written = versionOf(json)
  if (written !== undefined && written > newest) return { ok: false, newer: written, newest }
  const parsed = form.schema.safeParse(migrate(json, form))
  if (parsed.success) return { ok: true, value: parsed.data, version: written ?? null }
  const [issue] = parsed.error.issues
  const place = issue?.path.map(String).join('.') ?? ''
  return { ok: false, broken: `${place === '' ? 'the whole' : place}: ${issue?.message}` }
}

/** V8 counts characters; people count lines. */
function jsonPlace(text: string, message: string): string {
  const position = /position (\d+)/.exec(message)?.[1]
  if (position === undefined || message.includes('line')) return message
  const before = text.slice(0, Number(position)).split('\n')
  return `${message} (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`
}
