// Reads the config file again while the gateway runs, as one transaction: a file that is not whole
// or not valid changes nothing, and is remembered until a reload succeeds. Nothing watches the
// file; how it differs from what runs is found out when somebody asks.

import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { digestOf, restartOnlyChanges } from './drift.ts'
import { effectiveConfig } from './effective.ts'
import type { Env } from './environment.ts'
import { loadConfigFile } from './load.ts'
import type { LoadedConfig } from './load.ts'
import { problemText } from './problem.ts'
import type { Config } from './schema.ts'

export interface ReloadDeps {
  /** Undefined when the gateway runs without a file. */
  file: string | undefined
  env: Env
  /** Wall clock in milliseconds. */
  now(): number
  /** What the gateway was started with. */
  loaded: LoadedConfig
  /**
   * Makes the config the running one, in one synchronous step. Keys that need a restart keep their
   * running values in it. What it throws is a bug; the config before stays the running one.
   */
  apply(next: Config, before: Config): void
}

export interface ReloadDone {
  ok: true
  changed: boolean
  /** Top-level keys that run with new values. */
  keys: string[]
  /** Paths that differ in the file and need a restart. */
  restartNeeded: string[]
  warnings: string[]
}

export type ReloadResult = ReloadDone | { ok: false; problems: string[] }

export interface ConfigDrift {
  state: 'same' | 'differs' | 'unreadable' | 'no_file'
  /** Top-level keys that differ. */
  keys: string[]
  problems: string[]
}

export class ConfigReload {
  readonly #deps: ReloadDeps
  #loaded: LoadedConfig
  #loadedAt: number
  #error: string | undefined
  #restartNeeded: string[] = []

  constructor(deps: ReloadDeps) {
    this.#deps = deps
    this.#loaded = deps.loaded
    this.#loadedAt = deps.now()
  }

  get file(): string | undefined {
    return this.#deps.file
  }

  /** The config that runs. */
  get config(): Config {
    return this.#loaded.config
  }

  /** The config that runs as it may be shown: defaults filled in, secrets masked. */
  get shown(): Record<string, unknown> {
    return effectiveConfig(this.#loaded.config, this.#loaded.fromEnv)
  }

  /** Wall clock time at which what runs was read. */
  get loadedAt(): number {
    return this.#loadedAt
  }

  /** Why the newest reload changed nothing; undefined after a good one. */
  get error(): string | undefined {
    return this.#error
  }

  /** Keys that the newest good reload found changed and could not apply. */
  get restartNeeded(): readonly string[] {
    return this.#restartNeeded
  }

  /** Reads the file and applies it. With `dryRun` it only says what would happen. */
  reload(dryRun = false): ReloadResult {
    const { file, env, now } = this.#deps
    if (file === undefined) {
      return { ok: false, problems: ['the gateway runs without a config file; nothing to read'] }
    }
    const next = loadConfigFile(file, env)
    if (!next.ok) {
      const problems = next.problems.map(problemText)
      if (!dryRun) this.#error = problems.join('; ')
      return { ok: false, problems }
    }
    const before = this.#loaded.config
    const restartNeeded = restartOnlyChanges(before, next.config)
    const config = keepRestartOnly(next.config, before)
    const keys = changedKeys(before, config)
    if (!dryRun) {
      this.#swap({ ...next, config }, keys.length > 0)
      this.#loadedAt = now()
      this.#error = undefined
      this.#restartNeeded = restartNeeded
    }
    const warnings = next.warnings.map(problemText)
    return { ok: true, changed: keys.length > 0, keys, restartNeeded, warnings }
  }

  /** Whoever is told of the new config already finds it running. */
  #swap(next: LoadedConfig, tell: boolean): void {
    const before = this.#loaded
    this.#loaded = next
    if (!tell) return
    try {
      this.#deps.apply(next.config, before.config)
    } catch (bug) {
      this.#loaded = before
      throw bug
    }
  }

  /** How the file differs from what runs, read now. */
  drift(): ConfigDrift {
    const { file, env } = this.#deps
    if (file === undefined) return { state: 'no_file', keys: [], problems: [] }
    let text: string
    try {
      text = readFileSync(file, 'utf8')
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      return { state: 'unreadable', keys: [], problems: [`cannot read ${file}: ${detail}`] }
    }
    const same: ConfigDrift = { state: 'same', keys: [], problems: [] }
    if (digestOf(text) === this.#loaded.digest) return same
    const next = loadConfigFile(file, env)
    if (!next.ok) {
      return { state: 'differs', keys: [], problems: next.problems.map(problemText) }
    }
    const keys = changedKeys(this.#loaded.config, next.config)
    return keys.length === 0 ? same : { state: 'differs', keys, problems: [] }
  }
}

function keepRestartOnly(next: Config, running: Config): Config {
  const { listen, ops_listen, admin, storage } = running
  return { ...next, listen, ops_listen, admin, storage }
}

function changedKeys(a: Config, b: Config): string[] {
  const before = new Map<string, unknown>(Object.entries(a))
  const after = new Map<string, unknown>(Object.entries(b))
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (key) => !isDeepStrictEqual(before.get(key), after.get(key)),
  )
}
