// One thing that is wrong with a config, and how the place of it is written.

/** Faults and warnings have the same shape. */
export interface Problem {
  /** Such as `workers[1].probe.interval`; empty for the file as a whole. */
  path: string
  /** What is wrong, without the path. */
  message: string
  /** What to write instead, where that is known. */
  suggestion?: string
  /** Only where the place in the text is known; both count from 1. */
  line?: number
  column?: number
}

/** The path of a member: `.key`, `["odd key"]` or `[0]`. */
export function childPath(parent: string, key: string | number): string {
  if (typeof key === 'number') return `${parent}[${key}]`
  if (!/^[\p{L}_$][\p{L}\p{N}_-]*$/u.test(key)) return `${parent}[${JSON.stringify(key)}]`
  return parent === '' ? key : `${parent}.${key}`
}

export function pathOf(keys: readonly PropertyKey[]): string {
  return keys.reduce<string>(
    (path, key) => childPath(path, typeof key === 'number' ? key : String(key)),
    '',
  )
}

/** `path: message (suggestion)`, with line and column in front of what has no path. */
export function problemText(problem: Problem): string {
  const place = problem.line === undefined ? '' : `line ${problem.line}, column ${problem.column}`
  const where = [problem.path, place].filter((part) => part !== '').join(', ')
  const hint = problem.suggestion === undefined ? '' : ` (${problem.suggestion})`
  return `${where === '' ? 'config' : where}: ${problem.message}${hint}`
}
