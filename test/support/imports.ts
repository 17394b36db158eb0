// What a source file imports, read with a pattern: the formatter keeps imports in one shape.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from './write-docs.ts'

export interface Import {
  /** The importing file, from `src/`. */
  from: string
  /** The imported file from `src/`, or the name of a package, or `node:…`. */
  to: string
  kind: 'value' | 'type' | 'dynamic'
}

const STATIC =
  /^(?:import|export)\s+(?<type>type\s)?(?:[\w*{][^'"`;]*?\sfrom\s+)?'(?<static>[^'\n]+)'/gm
const DYNAMIC = /\bimport\(\s*'(?<dynamic>[^'\n]+)'/g

/** Every source file, from `src/`, with slashes. */
export function sourceFiles(): string[] {
  return globSync('**/*.{ts,tsx}', { cwd: path.join(ROOT, 'src') })
    .map((file) => file.split(path.sep).join('/'))
    .toSorted()
}

export function readSource(file: string): string {
  return readFileSync(path.join(ROOT, 'src', file), 'utf8')
}

export function importsOf(file: string, text: string): Import[] {
  const code = withoutComments(text)
  const target = (name: string) =>
    name.startsWith('.') ? path.posix.join(path.posix.dirname(file), name) : name
  const statics = [...code.matchAll(STATIC)].map(({ groups }) => ({
    from: file,
    to: target(groups!['static']!),
    kind: groups!['type'] === undefined ? ('value' as const) : ('type' as const),
  }))
  const dynamics = [...code.matchAll(DYNAMIC)].map(({ groups }) => ({
    from: file,
    to: target(groups!['dynamic']!),
    kind: 'dynamic' as const,
  }))
  return [...statics, ...dynamics]
}

/** The package of an import such as `react/jsx-runtime` or `@scope/name/file`. */
export function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}

// Strings, templates and regular expressions may hold what looks like a comment, so that they are
// stepped over first. A template that holds a template is cut short, which is good enough here.
const TOKENS =
  /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[^])*`|\/\*[^]*?\*\/|\/\/[^\n]*|(?<=[=(,:!&|?[{;+\n]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//g

/** The code without comments; with `strings: false` without what stands in quotes, too. */
export function withoutComments(text: string, { strings = true } = {}): string {
  return text.replace(TOKENS, (token) => {
    if (token.startsWith('/*') || token.startsWith('//')) return token.replace(/[^\n]/g, ' ')
    if (strings || token.startsWith('/')) return token
    return token.startsWith('`') ? token : "''"
  })
}
