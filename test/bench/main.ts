// `npm run bench -- [NAME…]`: runs the named benchmarks, or all. They report and decide nothing:
// timing is no test.

import { globSync } from 'node:fs'
import path from 'node:path'
import type { BenchRow } from './bench.ts'

const END = '.bench.js'
const known = globSync(`*${END}`, { cwd: import.meta.dirname })
  .map((file) => path.basename(file, END))
  .toSorted()
const asked = process.argv.slice(2)
const unknown = asked.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  console.error(`no such benchmark: ${unknown.join(', ')}; there are ${known.join(', ')}`)
  process.exit(2)
}

// What a benchmark started ends with it, whichever way it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1))
}

for (const name of asked.length > 0 ? asked : known) {
  console.log(`\n${name}`)
  try {
    const file = path.join(import.meta.dirname, `${name}${END}`)
    const { run } = (await import(file)) as { run(): Promise<BenchRow[]> }
    for (const row of await run()) console.log(line(row))
  } catch (error) {
    console.error(`  failed: ${error instanceof Error ? error.message : String(error)}`)
    process.exitCode = 1
  }
}

function line({ name, value, unit, note }: BenchRow): string {
  const shown = Number.isNaN(value) ? '-' : value.toFixed(value < 10 ? 2 : 1)
  return `  ${name.padEnd(52)} ${shown.padStart(8)} ${unit.padEnd(4)} ${note}`.trimEnd()
}
