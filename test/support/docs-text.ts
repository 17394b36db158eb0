// What the prose of the repository names: paths and commands.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from './write-docs.ts'

export interface Page {
  /** From the root. */
  file: string
  text: string
}

/** Every page that people read, generated ones too. */
export function pages(): Page[] {
  return [
    'README.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    ...globSync('docs/**/*.md', { cwd: ROOT }),
  ]
    .toSorted()
    .map((file) => ({ file, text: readFileSync(path.join(ROOT, file), 'utf8') }))
}

const PATH = /(?<![\w./-])(?:src|test|docs|bin|\.ci)\/[\w./-]*|(?<=`)\.\w[\w.-]*\.json(?=`)/g
const LINK = /\]\((?!https?:|#)([^)#\s]+)/g

/** Paths that a page names, from the root. A sentence may end with one. */
export function pathsOf({ file, text }: Page): string[] {
  const named = [...text.matchAll(PATH)].map(([found]) => found.replace(/[.]+$/, ''))
  const linked = [...text.matchAll(LINK)].map(([, target]) =>
    path.posix.join(path.posix.dirname(file), target!),
  )
  return [...new Set([...named, ...linked])]
}

const CODE = /```[^]*?```|`[^`\n]+`/g
const COMMAND = /(?<![\w/.-])ogw ([a-z][a-z-]*)(?: ([a-z][a-z0-9-]*))?/g

/** Command lines in the code of a page, as far as their words can be commands: `placement allow`. */
export function commandsOf({ text }: Page): string[] {
  const code = [...text.matchAll(CODE)].map(([found]) => found).join('\n')
  return [...code.matchAll(COMMAND)].map(([, name, sub]) => [name, sub].filter(Boolean).join(' '))
}

const BARE_FILE = /`([\w-]+\.tsx?)`/g

/** Source files that a page names without their folder. */
export function bareFilesOf({ text }: Page): string[] {
  return [...text.matchAll(BARE_FILE)].map(([, name]) => name!)
}
