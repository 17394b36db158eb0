// Documents change their form with the versions of ogw: an older one is brought up step by step, a
// newer one is refused, because writing it back would lose what this ogw does not know.

import { StartError } from '../start-error.ts'

type Json = Readonly<Record<string, unknown>>

export interface Versions {
  /** The version that is written. Default 1. */
  version?: number
  /** By version: makes the next version's JSON of it. Default: there was none before. */
  migrations?: Readonly<Record<number, (json: Json) => Json>>
}

/** The JSON in the newest form; as it is where it has no version, for the schema to refuse. */
export function migrate(
  json: unknown,
  { version: newest = 1, migrations = {} }: Versions,
): unknown {
  let current = json
  for (;;) {
    const written = versionOf(current)
    if (!isObject(current) || written === undefined || written >= newest) return current
    const step = migrations[written]
    if (step === undefined) return current
    current = { ...step(current), version: written + 1 }
  }
}

/** Undefined where it says none. */
export function versionOf(json: unknown): number | undefined {
  const written = isObject(json) ? json['version'] : undefined
  return typeof written === 'number' ? written : undefined
}

interface Newer {
  file: string
  written: number
  newest: number
  /** As in `move it away to start with no keys`. */
  remedy: string
}

/** Refuses the start of an ogw that is older than a file of its state. */
export function newerFile({ file, written, newest, remedy }: Newer): StartError {
  return new StartError(
    `${file} was written by a newer ogw: it has version ${written}, this one knows ${newest}. Start the ogw that wrote it, bring an older file back from a backup, or ${remedy}`,
    78,
  )
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
