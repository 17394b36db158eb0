// Words what zod found wrong, for people: which key, what is wrong with it, what to write.

import type { z } from 'zod'
import { nearest, nodeAt, suggestKey } from './known-keys.ts'
import type { Problem } from './problem.ts'
import { pathOf } from './problem.ts'

type Issue = z.core.$ZodIssue

/** Every issue as a problem. `raw` is the value that was parsed: it tells missing from wrong. */
export function schemaProblems(issues: readonly Issue[], raw: unknown): Problem[] {
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return unknownKeys(issue.path, issue.keys)
    if (issue.code === 'invalid_union') return [unionProblem(issue, raw)]
    if (issue.code === 'invalid_key') {
      const [inner] = issue.issues
      return [{ path: pathOf(issue.path), message: inner?.message ?? issue.message }]
    }
    const suggestion = suggestValue(issue, valueAt(raw, issue.path))
    const problem = { path: pathOf(issue.path), message: wording(issue, raw) }
    return [suggestion === undefined ? problem : { ...problem, suggestion }]
  })
}

function unknownKeys(parent: readonly PropertyKey[], keys: readonly string[]): Problem[] {
  return keys.map((key) => {
    const suggestion = suggestKey(parent, key)
    const problem = { path: pathOf([...parent, key]), message: 'unknown key' }
    return suggestion === undefined ? problem : { ...problem, suggestion }
  })
}

/** Of alternatives the last is the general one: `"off"` or a duration, `"-1"` or a duration. */
function unionProblem(issue: Issue & { code: 'invalid_union' }, raw: unknown): Problem {
  const words = issue.errors.flatMap((branch) => branch.map(({ code }) => code))
  const general = issue.errors.at(-1)?.[0]
  const literals = nodeAt(issue.path)?.anyOf?.flatMap((node) => node.const ?? []) ?? []
  const path = pathOf(issue.path)
  if (general === undefined || words.length === 0) return { path, message: issue.message }
  const message = wording({ ...general, path: issue.path }, raw)
  const quoted = literals.map((literal) => JSON.stringify(literal)).join(', ')
  return { path, message: quoted === '' ? message : `${message}, or ${quoted}` }
}

/** Messages that the schema wrote itself are kept; zod's own general ones are replaced. */
function wording(issue: Issue, raw: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return typeWording(issue, valueAt(raw, issue.path))
    case 'invalid_value':
      return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`
    case 'too_small':
      return isOwnWording(issue) ? issue.message : `must be ${least(issue)}`
    case 'too_big':
      return isOwnWording(issue)
        ? issue.message
        : `must be at most ${issue.maximum}${ofWhat(issue)}`
    case 'invalid_format':
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
      return issue.message
  }
}

const isOwnWording = (issue: Issue): boolean => !/^(?:Too |Invalid )/.test(issue.message)

function least(issue: Issue & { code: 'too_small' }): string {
  const relation = issue.inclusive === false ? 'more than' : 'at least'
  return `${relation} ${issue.minimum}${ofWhat(issue)}`
}

function ofWhat(issue: { origin: string }): string {
  if (issue.origin === 'string') return ' characters long'
  return issue.origin === 'array' ? ' long' : ''
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list in [ ]',
  object: 'an object in { }',
  record: 'an object in { }',
}

function typeWording(issue: Issue & { code: 'invalid_type' }, value: unknown): string {
  if (value === undefined) return 'is missing'
  if (isOwnWording(issue)) return issue.message
  return `must be ${TYPE_NAMES[issue.expected] ?? issue.expected}, not ${kindOf(value)}`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'object' ? 'an object' : 'a string'
}

function suggestValue(issue: Issue, value: unknown): string | undefined {
  if (issue.code !== 'invalid_value' || typeof value !== 'string') return undefined
  const near = nearest(
    value,
    issue.values.filter((option) => typeof option === 'string'),
  )
  return near === undefined ? undefined : `did you mean "${near}"?`
}

/** The value at a path of a JSON tree; undefined where there is none. */
export function valueAt(root: unknown, keys: readonly PropertyKey[]): unknown {
  let value = root
  for (const key of keys) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = Object.entries(value).find(([name]) => name === String(key))?.[1]
  }
  return value
}
