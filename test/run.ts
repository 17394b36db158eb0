// Runs the compiled tests: `node test/run.ts [WORD...]` keeps the files whose path has a word.
// Files are listed from the sources, so that what was deleted there is not run from dist.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const words = process.argv.slice(2)
const files = globSync('test/**/*.test.{ts,tsx}', { cwd: root })
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .map((file) => path.join('dist', file.replace(/\.tsx?$/, '.js')))
  .toSorted()

if (files.length === 0) {
  console.error(`no test file matches ${words.join(' ')}`)
  process.exit(1)
}
const args = ['--test', '--test-concurrency=2', '--test-timeout=120000', ...files]
const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
process.exit(status ?? 1)
