// From the text of config.json to a Config, or to everything that is wrong with it at once. It
// changes nothing: who applies a config decides what becomes of a bad one.

import { isUtf8 } from 'node:buffer'
import { readFileSync, statSync } from 'node:fs'
import { hostname, networkInterfaces } from 'node:os'
import path from 'node:path'
import { isLoopback, readListenAddress, readWorkerAddress } from './address.ts'
import type { Findings } from './cross-checks.ts'
import { crossChecks } from './cross-checks.ts'
import { digestOf } from './drift.ts'
import type { Env } from './environment.ts'
import { expandEnv } from './environment.ts'
import { notUtf8, readJson } from './json-text.ts'
import { notBuiltYet } from './not-built-yet.ts'
import type { Problem } from './problem.ts'
import { schemaProblems } from './schema-problems.ts'
import { Config } from './schema.ts'
import { soundParts } from './sound-parts.ts'

export interface LoadedConfig {
  ok: true
  config: Config
  warnings: Problem[]
  /** Paths of the written file whose strings came from the environment; never displayed. */
  fromEnv: readonly string[]
  /** Of the text that was read; tells whether the file has changed since. */
  digest: string
}

export interface RejectedConfig {
  ok: false
  /** All of them, in the order of the checks; never empty. */
  problems: Problem[]
  warnings: Problem[]
}

export type LoadResult = LoadedConfig | RejectedConfig

/** Far above any real fleet, and low enough to be read in one go. */
const MAX_CONFIG_BYTES = 16 * 1024 * 1024

/** Reads a config from its text. */
export function loadConfig(text: string, env: Env): LoadResult {
  const json = readJson(text)
  if (!json.ok) return { ok: false, problems: [json.problem], warnings: [] }
  const { value, fromEnv, problems } = expandEnv(json.value, env)
  const { raw, warnings } = withDefaultWorker(value, env)
  const parsed = Config.safeParse(raw)
  const found = checkAll(raw, parsed.success ? [] : schemaProblems(parsed.error.issues, raw))
  const all = unique([...json.duplicates, ...problems, ...found.problems])
  const allWarnings = [...warnings, ...found.warnings]
  if (!parsed.success || all.length > 0) return { ok: false, problems: all, warnings: allWarnings }
  return { ok: true, config: parsed.data, warnings: allWarnings, fromEnv, digest: digestOf(text) }
}

/** Reads a config from a file. A file that cannot be read is a problem like any other. */
export function loadConfigFile(file: string, env: Env): LoadResult {
  const failed = (message: string): LoadResult => ({
    ok: false,
    problems: [{ path: '', message }],
    warnings: [],
  })
  try {
    const { size } = statSync(file)
    if (size > MAX_CONFIG_BYTES) return failed(`${file} is larger than ${MAX_CONFIG_BYTES} bytes`)
    const bytes = readFileSync(file)
    if (!isUtf8(bytes)) return { ok: false, problems: [notUtf8(bytes)], warnings: [] }
    return loadConfig(bytes.toString('utf8'), env)
  } catch (error) {
    return failed(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The config of `ogw serve` without a file: one worker, at `OLLAMA_HOST`. */
export function defaultConfig(env: Env): LoadResult {
  return loadConfig('{}', env)
}

/** `OGW_CONFIG` even if it does not exist, else the first of the usual places that does. */
export function findConfigFile(env: Env, exists = isFile): string | undefined {
  const named = env['OGW_CONFIG']
  if (named !== undefined && named !== '') return named
  const home = env['HOME']
  const configHome = env['XDG_CONFIG_HOME'] || (home && path.join(home, '.config'))
  const places = [
    ...(configHome ? [path.join(configHome, 'ogw', 'config.json')] : []),
    '/etc/ogw/config.json',
  ]
  return places.find(exists)
}

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false
}

function checkAll(raw: unknown, shape: Problem[]): Findings {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    return { problems: shape, warnings: [] }
  }
  const across = crossChecks(soundParts(raw), localHosts())
  const found = [...shape, ...across.problems]
  const faulty = new Set(found.map((problem) => problem.path))
  return {
    problems: [...found, ...notBuiltYet(raw).filter((problem) => !faulty.has(problem.path))],
    warnings: across.warnings,
  }
}

function localHosts(): Set<string> {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return new Set([hostname().toLowerCase(), ...addresses.map(({ address }) => address)])
}

function unique(problems: readonly Problem[]): Problem[] {
  const keys = problems.map(({ path: at, message }) => `${at}\n${message}`)
  return problems.filter((_, index) => keys.indexOf(keys[index] ?? '') === index)
}

interface WithWorker {
  raw: unknown
  warnings: Problem[]
}

/** A config that says nothing of workers means the Ollama that `OLLAMA_HOST` names. */
function withDefaultWorker(raw: unknown, env: Env): WithWorker {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw) || 'workers' in raw) {
    return { raw, warnings: [] }
  }
  const listen = 'listen' in raw ? String(raw.listen) : Config.shape.listen.parse(undefined)
  const { worker, warnings } = ollamaHost(env['OLLAMA_HOST'], listen)
  return { raw: { ...raw, workers: [{ name: 'ollama', ...worker }] }, warnings }
}

const OLLAMA_DEFAULT = 'http://127.0.0.1:11434'

interface DefaultWorker {
  worker: { url: string; headers?: { authorization: string } }
  warnings: Problem[]
}

/** `OLLAMA_HOST` says where a server listens; 0.0.0.0 there means this machine for a client. */
function ollamaHost(text: string | undefined, listen: string): DefaultWorker {
  const trimmed = (text ?? '').trim().replace(/^["']|["']$/g, '')
  if (trimmed === '') return { worker: { url: OLLAMA_DEFAULT }, warnings: [] }
  const instead = (why: string): DefaultWorker => ({
    worker: { url: OLLAMA_DEFAULT },
    warnings: [{ path: 'workers', message: `OLLAMA_HOST is not used: ${why}` }],
  })
  const address = readWorkerAddress(trimmed.startsWith(':') ? `127.0.0.1${trimmed}` : trimmed)
  if (!address.ok) return instead(address.why)
  const url = new URL(address.url)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  const isOwn = String(readListenAddress(listen)?.port) === url.port && isLoopback(url.hostname)
  if (isOwn) return instead('it is where this gateway listens')
  const { authorization } = address
  const headers = authorization === undefined ? {} : { headers: { authorization } }
  return { worker: { url: url.href.replace(/\/$/, ''), ...headers }, warnings: [] }
}
