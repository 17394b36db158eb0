// The version of this package, read from its package.json so that it is written down once.

import { readFileSync } from 'node:fs'
import path from 'node:path'

export const VERSION = readVersion()

function readVersion(): string {
  // dist/src/cli and src/cli lie at different depths; the nearest package.json is ours.
  for (let folder = import.meta.dirname; ; folder = path.dirname(folder)) {
    const found = tryRead(path.join(folder, 'package.json'))
    if (found !== undefined) return found
    if (folder === path.dirname(folder)) return '0.0.0'
  }
}

function tryRead(file: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof parsed !== 'object' || parsed === null || !('version' in parsed)) return undefined
    return typeof parsed.version === 'string' ? parsed.version : undefined
  } catch {
    // Not in this folder: the caller looks in the next one up.
    return undefined
  }
}
