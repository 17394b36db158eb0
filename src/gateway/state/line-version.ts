// Files of JSON lines have no head that could carry a version, so each line has its own; a line
// without one is of version 1. A file with a newer line is refused like a newer document: what is
// rewritten now and then would lose it.

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { newerFile, versionOf } from './migrate.ts'

/** The version of the lines that are written. */
export const LINE_VERSION = 1

/** Versions are looked for in the last bytes: a newer ogw writes its lines behind the others. */
export const TAIL_BYTES = 64 * 1024

/** Of one line; 1 where it says none, undefined where it is no line of JSON. */
function versionOfLine(text: string): number | undefined {
  try {
    return versionOf(JSON.parse(text)) ?? 1
  } catch {
    return undefined // half of one, as a kill leaves it
  }
}

/** Of the last whole line of a text; undefined where there is none. */
export function versionOfLast(text: string): number | undefined {
  return text
    .split('\n')
    .map(versionOfLine)
    .findLast((version) => version !== undefined)
}

/** Throws StartError where a newer ogw has written lines to the file. */
export function refuseNewerLines(file: string, version: number | undefined, remedy: string): void {
  if (version === undefined || version <= LINE_VERSION) return
  throw newerFile({ file, written: version, newest: LINE_VERSION, remedy })
}

/** The end of a file; empty where it cannot be read, which its first write will tell. */
export function tailOf(file: string): string {
  let handle: number | undefined
  try {
    handle = openSync(file, 'r')
    const { size } = fstatSync(handle)
    const length = Math.min(size, TAIL_BYTES)
    const buffer = Buffer.alloc(length)
    return buffer.toString('utf8', 0, readSync(handle, buffer, 0, length, size - length))
  } catch {
    return '' // not there yet, or told at the first write: this look decides nothing else
  } finally {
    if (handle !== undefined) closeSync(handle)
  }
}
