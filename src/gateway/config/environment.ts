// Replaces `${NAME}` inside the strings of a config by what the environment says, so that secrets
// need not stand in the file. Keys are left alone. A literal `${` is written `$${`.

import type { Problem } from './problem.ts'
import { childPath } from './problem.ts'

export interface Expanded {
  value: unknown
  /** Paths of strings that hold something from the environment; they are never displayed. */
  fromEnv: string[]
  problems: Problem[]
}

export type Env = Readonly<Record<string, string | undefined>>

/** Every string of the tree, expanded. A variable that is not set is a problem that names it. */
export function expandEnv(value: unknown, env: Env): Expanded {
  const found: Expanded = { value: undefined, fromEnv: [], problems: [] }
  found.value = expand(value, '', env, found)
  return found
}

function expand(value: unknown, path: string, env: Env, found: Expanded): unknown {
  if (typeof value === 'string') return expandString(value, path, env, found)
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => expand(item, childPath(path, index), env, found))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]: [string, unknown]) => [
      key,
      expand(item, childPath(path, key), env, found),
    ]),
  )
}

const REFERENCE = /\$\$\{|\$\{(?<name>[A-Za-z_][A-Za-z0-9_]*)\}|\$\{/g

function expandString(text: string, path: string, env: Env, found: Expanded): string {
  return text.replaceAll(REFERENCE, (whole: string, name: string | undefined) => {
    if (whole === '$${') return '${'
    if (name === undefined) {
      const suggestion = 'write ${NAME}, or $${ for the characters themselves'
      found.problems.push({ path, message: 'this ${ names no variable', suggestion })
      return whole
    }
    const value = env[name]
    if (value === undefined) {
      const message = `the environment variable ${name} is not set`
      found.problems.push({ path, message })
      return whole
    }
    found.fromEnv.push(path)
    return value
  })
}
