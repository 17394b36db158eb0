// Every command explains itself: what it is for, and examples that are real.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMANDS } from '../../src/cli/commands.ts'
import { cliDocs } from '../support/cli-docs.ts'
import { run } from '../support/run-cli.ts'

test('every command and subcommand has examples in its help', async () => {
  const docs = await cliDocs()
  const sections = docs.split(/^## (?=ogw)/m).slice(1)
  assert.ok(sections.length > 40, 'the tree was walked')
  const without = sections
    .filter((text) => !text.includes('Examples:'))
    .map((text) => text.split('\n')[0])
  assert.deepEqual(without, [])
})

test('the commands of examples exist', async () => {
  const docs = await cliDocs()
  const known = new Set([...docs.matchAll(/^## (ogw .*)$/gm)].map(([, name]) => name))
  const examples = [
    ...docs.matchAll(/^ {2}ogw (?:--context \S+ )?([a-z][a-z-]*)(?: ([a-z][a-z0-9-]*))?/gm),
  ]
  assert.ok(examples.length > 60)
  for (const [line, first, second] of examples) {
    assert.ok(known.has(`ogw ${first}`), line)
    const isGroup = [...known].some((name) => name?.startsWith(`ogw ${first} `))
    if (isGroup && second !== undefined) assert.ok(known.has(`ogw ${first} ${second}`), line)
  }
})

test('the one line of each command in ogw --help is there before it is loaded', async () => {
  const { stdout } = await run(['--help'])
  for (const { name, summary, hidden } of COMMANDS) {
    assert.equal(stdout.includes(summary), hidden !== true, name)
  }
})
