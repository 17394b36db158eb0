// Saved contexts: names of gateways and where they are. The file is read as plain JSON, so that a
// command does not wait for `conf`; only a change loads it. Reading never writes, and a file that
// is broken is an error that leaves it as it is.

import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { CliError } from './exit-codes.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface Contexts {
  /** The context that commands use when none is named. */
  current: string | undefined
  /** Name → socket path or ssh address. */
  contexts: ReadonlyMap<string, string>
}

function contextsFile(env: Env): string {
  return path.join(folder(env), 'contexts.json')
}

/** Throws when the file is there and is not what `ogw context` writes. */
export function readContexts(env: Env): Contexts {
  const text = readIfThere(contextsFile(env))
  if (text === undefined) return { current: undefined, contexts: new Map() }
  return parseContexts(text, contextsFile(env))
}

/** Replaces the whole document, for nobody but this user to read. */
export async function writeContexts(env: Env, { current, contexts }: Contexts): Promise<void> {
  readContexts(env) // A broken file is not overwritten.
  const { default: Conf } = await import('conf')
  const store = new Conf<Record<string, unknown>>({
    cwd: folder(env),
    configName: 'contexts',
    projectSuffix: '',
    accessPropertiesByDotNotation: false,
    clearInvalidConfig: false,
    configFileMode: 0o600,
  })
  // Set at once, by an object without a prototype: `__proto__` is a name like any other.
  store.store = {
    contexts: Object.assign(Object.create(null), Object.fromEntries(contexts)) as object,
    ...(current !== undefined && { current }),
  }
}

function folder(env: Env): string {
  const base = env['XDG_CONFIG_HOME'] ?? ''
  return path.join(base === '' ? path.join(env['HOME'] ?? homedir(), '.config') : base, 'ogw')
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw new CliError('failed', `the saved contexts cannot be read: ${messageOf(cause)}`, {
      cause,
    })
  }
}

function parseContexts(text: string, file: string): Contexts {
  const broken = (why: string, cause?: unknown): CliError =>
    new CliError('failed', `the file of saved contexts is broken: ${why}`, {
      details: [`${file} was left as it is: repair it or move it away`],
      cause,
    })
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (cause) {
    throw broken(messageOf(cause), cause)
  }
  if (!isObject(document)) throw broken('it does not hold an object')
  const { contexts = {}, current } = document
  if (!isObject(contexts)) throw broken('"contexts" is not an object')
  if (current !== undefined && typeof current !== 'string') throw broken('"current" is not a name')
  const entries = Object.entries(contexts)
  const bad = entries.find(([, target]) => typeof target !== 'string')
  if (bad !== undefined) throw broken(`"${bad[0]}" is not text`)
  return { current, contexts: new Map(entries.map(([name, target]) => [name, String(target)])) }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
