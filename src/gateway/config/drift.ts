// Tells whether a config has changed since it was read, and which changes a reload cannot make.

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from './schema.ts'

/** SHA-256 of the text as read, in hex. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Sockets and state folders are opened once, at the start. */
const RESTART_ONLY = ['listen', 'ops_listen', 'admin', 'storage'] as const

/** Keys that differ and take effect only at a restart, such as `admin.mode`; empty if none. */
export function restartOnlyChanges(running: Config, next: Config): string[] {
  return RESTART_ONLY.flatMap((key) => changedKeys(running[key], next[key], key))
}

function changedKeys(a: unknown, b: unknown, path: string): string[] {
  if (isDeepStrictEqual(a, b)) return []
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return [path]
  const others = new Map<string, unknown>(Object.entries(b))
  return Object.entries(a).flatMap(([key, value]: [string, unknown]) =>
    changedKeys(value, others.get(key), `${path}.${key}`),
  )
}
