// Runs the compiled tests: `node test/run.ts [WORD...]` keeps the files whose path has a word.
// Files are listed from the sources, so that what was deleted there is not run from dist. Each runs
// in a process of its own: one that crashes, hangs or leaves something running is a failure.

import { globSync } from 'node:fs'
import path from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { clientTable, keepClientTable } from './support/client-table.ts'

/** Milliseconds for one file. Generous, as two slow cores share their time with other work. */
const FILE_TIMEOUT = process.env['OGW_FAULTS'] === 'full' ? 25 * 60_000 : 4 * 60_000

const root = path.join(import.meta.dirname, '..')
const words = process.argv.slice(2)
const files = globSync('test/**/*.test.{ts,tsx}', { cwd: root })
  .map((file) => file.split(path.sep).join('/'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .map((file) => path.join(root, 'dist', file.replace(/\.tsx?$/, '.js')))
  .toSorted()

if (files.length === 0) {
  console.error(`no test file matches ${words.join(' ')}`)
  process.exit(1)
}

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())

const tests = run({
  files,
  cwd: root,
  concurrency: 2,
  timeout: FILE_TIMEOUT,
  signal: stop.signal,
  // `npm run test:update` rewrites what others read; its diff is read in review.
  execArgv: process.env['OGW_UPDATE'] === '1' ? ['--test-update-snapshots'] : [],
})
const skipped: string[] = []
const NOTHING = { tests: 0, suites: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0 }
let counts = NOTHING
let milliseconds = 0
const clients = clientTable()
tests.on('test:fail', ({ file, name }) => clients.add(file, name, false))
tests.on('test:pass', ({ file, name, skip }) => {
  if (skip === undefined) clients.add(file, name, true)
  if (skip !== undefined) skipped.push(`${name}: ${skip === true ? 'no reason given' : skip}`)
})
tests.on('test:summary', (summary) => {
  if (summary.file !== undefined) return
  counts = { ...NOTHING, ...summary.counts }
  milliseconds = summary.duration_ms
})
// The runner says its summary before it repeats the failures; whoever reads the end of a long log
// wants to find it there.
for await (const text of tests.compose(spec)) process.stdout.write(text)
if (skipped.length > 0) {
  console.log(`\nSKIPPED, so not proven here:\n${skipped.map((line) => `  ${line}`).join('\n')}\n`)
}
process.exitCode = Math.max(showClients(), summarise())

/** What each client could do; the page about clients says the same. The exit code. */
function showClients(): number {
  const table = clients.text()
  if (table === undefined) return 0
  console.log(`\n${table}\n`)
  const whole = globSync('test/conformance/*.test.ts', { cwd: root }).every((file) =>
    files.includes(path.join(root, 'dist', file.replace(/\.ts$/, '.js'))),
  )
  if (!whole || keepClientTable(table, process.env['OGW_UPDATE'] === '1')) return 0
  console.error('docs/clients/README.md has another table: npm run test:update\n')
  return 1
}

/** Prints the counts as the runner does, where something stands below its own; the exit code. */
function summarise(): number {
  const { passed: pass, failed: fail, cancelled, skipped: left, todo } = counts
  const held = counts.tests > 0 && fail + cancelled === 0 && !stop.signal.aborted
  if (held && skipped.length === 0) return 0
  const { tests: all, suites } = counts
  const lines = { tests: all, suites, pass, fail, cancelled, skipped: left, todo }
  for (const [name, count] of Object.entries(lines)) console.log(`ℹ ${name} ${count}`)
  console.log(`ℹ duration_ms ${milliseconds}`)
  return held ? 0 : 1
}
