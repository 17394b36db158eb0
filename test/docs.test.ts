// Prose does not compile: what it names is looked up, so that a page is never about something that
// has moved.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { suite, test } from 'node:test'
import type { Command } from 'commander'
import { buildFullProgram } from '../src/cli/program.ts'
import { bareFilesOf, commandsOf, type Page, pages, pathsOf } from './support/docs-text.ts'
import { sourceFiles } from './support/imports.ts'
import { silentIo } from './support/cli-docs.ts'
import { ROOT } from './support/write-docs.ts'

const PAGES = pages()
const program = await buildFullProgram(silentIo())
const BASENAMES = new Set(sourceFiles().map((file) => path.basename(file)))

suite('what the docs name', () => {
  test('is found in prose and code', () => {
    const page: Page = {
      file: 'docs/x.md',
      text: 'See `src/a.ts`, bin/b. [c](adr/c.md#d), `ogw placement allow X`, `e.ts`; run ogw not.',
    }
    assert.deepEqual(pathsOf(page), ['src/a.ts', 'bin/b', 'docs/adr/c.md'])
    assert.deepEqual(commandsOf(page), ['placement allow'])
    assert.deepEqual(bareFilesOf(page), ['e.ts'])
    assert.ok(PAGES.length > 10)
  })

  for (const page of PAGES) {
    test(`${page.file} names paths and commands that exist`, () => {
      assert.deepEqual(
        pathsOf(page).filter((named) => !existsSync(path.join(ROOT, named))),
        [],
        'paths',
      )
      assert.deepEqual(
        commandsOf(page).filter((words) => !isCommand(words.split(' '))),
        [],
        'commands',
      )
      assert.deepEqual(
        bareFilesOf(page).filter((name) => !BASENAMES.has(name)),
        [],
        'source files',
      )
    })
  }
})

/** The second word is only looked up where the command has subcommands: else it is an argument. */
function isCommand([name, sub]: string[]): boolean {
  if (name === 'help') return true
  const command = childOf(program, name)
  if (command === undefined) return false
  return sub === undefined || command.commands.length === 0 || childOf(command, sub) !== undefined
}

function childOf(command: Command, name: string | undefined): Command | undefined {
  return command.commands.find((one) => one.name() === name)
}
