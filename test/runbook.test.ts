// The runbook has an entry for whatever an operator may meet: fault codes and events of the log.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { sourceFiles } from './support/imports.ts'
import { ROOT } from './support/write-docs.ts'

const runbook = readFileSync(path.join(ROOT, 'docs/operations.md'), 'utf8')
const sources = sourceFiles()
  .filter((file) => file.includes('gateway/'))
  .map((file) => readFileSync(path.join(ROOT, 'src', file), 'utf8'))

const missing = (names: Iterable<string>): string[] =>
  [...new Set(names)].filter((name) => !runbook.includes(`\`${name}\``)).toSorted()

test('every fault code', () => {
  const errors = readFileSync(path.join(ROOT, 'src/gateway/errors.ts'), 'utf8')
  const codes = [...errors.matchAll(/\bcode: '([a-z_]+)'/g)].map(([, code = '']) => code)
  assert.ok(codes.length > 15)
  assert.deepEqual(missing(codes), [])
})

test('every event of the log', () => {
  const events = sources.flatMap((text) =>
    [...text.matchAll(/(?:\bevent|\bbug|\bnotice)\((?:deps, active,)?\s*'([a-z]+\.[a-z_]+)'/g)].map(
      ([, name = '']) => name,
    ),
  )
  const unions = sources.flatMap((text) =>
    [...text.matchAll(/'((?:worker|telemetry)\.[a-z_]+)'/g)].map(([, name = '']) => name),
  )
  assert.ok(events.length > 10)
  assert.deepEqual(missing([...events, ...unions]), [])
})
