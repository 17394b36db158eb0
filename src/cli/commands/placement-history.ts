// `ogw placement export|apply|history|undo`: rules as a document to keep in git, and edits to
// look up and take back.

import { readFile } from 'node:fs/promises'
import { text as readText } from 'node:stream/consumers'
import { Command } from 'commander'
import type { InputOf } from '../../gateway/contract/schema.ts'
import { presentHistory } from '../../tui/present/placement.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import {
  addChangeOptions,
  addExamples,
  type ChangeFlags,
  changeFields,
  wholeNumber,
} from '../options.ts'
import { jsonText } from '../output.ts'
import { printChange } from '../placement-change.ts'

const FORCE = 'also where a model is left without a worker that has it'

export function addHistoryCommands(placement: Command, context: CliContext): void {
  placement.addCommand(exportCommand(context))
  placement.addCommand(applyCommand(context))
  placement.addCommand(historyCommand(context))
  placement.addCommand(undoCommand(context))
}

function exportCommand(context: CliContext): Command {
  return addExamples(
    new Command('export')
      .description('print all that operators set, as a document for `apply`')
      .action(async () => {
        const document = await context.admin().call('placement.export', {})
        context.print(document, () => jsonText(document, 2))
      }),
    [
      ['ogw placement export > placement.json', 'to keep in git'],
      ['ogw placement export | ogw --context b placement apply -f -', 'the same rules elsewhere'],
    ],
  )
}

function applyCommand(context: CliContext): Command {
  const command = new Command('apply')
    .description('make the rules exactly those of a document; workers it leaves out are reset')
    .requiredOption('-f, --file <path>', 'the document, - for stdin')
  addChangeOptions(command, FORCE).action(async (flags: ChangeFlags & { file: string }) => {
    const document = await readDocument(context, flags.file)
    const input = { document, ...changeFields(flags) }
    printChange(context, flags, await context.admin().call('placement.apply', input))
  })
  return addExamples(command, [
    ['ogw placement apply -f placement.json --dry-run', 'what would change'],
    ['ogw placement apply -f placement.json', 'change it; twice is the same as once'],
  ])
}

async function readDocument(
  context: CliContext,
  file: string,
): Promise<InputOf<'placement.apply'>['document']> {
  const name = file === '-' ? 'stdin' : file
  let text: string
  try {
    text = file === '-' ? await readText(context.io.stdin) : await readFile(file, 'utf8')
  } catch (cause) {
    throw new CliError('usage', `cannot read ${name}: ${messageOf(cause)}`, { cause })
  }
  try {
    // The gateway checks it, with path and reason of every mistake.
    return JSON.parse(text.replace(/^\uFEFF/, '')) as InputOf<'placement.apply'>['document']
  } catch (cause) {
    throw new CliError('usage', `${name} is not JSON: ${messageOf(cause)}`, { cause })
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

function historyCommand(context: CliContext): Command {
  return addExamples(
    new Command('history')
      .description('list every edit, newest first')
      .option('--limit <count>', 'at most so many (default: 100)', wholeNumber, 100)
      .action(async ({ limit }: { limit: number }) => {
        const entries = await context.admin().call('placement.history', { limit })
        const rows = entries.map(({ id, at, actor, operation, before, after }) => ({
          id,
          at,
          actor,
          operation,
          before,
          after,
        }))
        context.print(rows, () => presentHistory(entries, context.io.now()))
      }),
    [
      ['ogw placement history', 'who changed what'],
      ['ogw placement history --json | jq .[0]', 'the last edit, with the rules before and after'],
    ],
  )
}

function undoCommand(context: CliContext): Command {
  const command = new Command('undo')
    .description('take back the last edit by anyone, or the one named')
    .argument('[id]', 'as in `ogw placement history`', wholeNumber)
  addChangeOptions(command, FORCE).action(async (id: number | undefined, flags: ChangeFlags) => {
    const input = { ...(id !== undefined && { id }), ...changeFields(flags) }
    printChange(context, flags, await context.admin().call('placement.undo', input))
  })
  return addExamples(command, [
    ['ogw placement undo', 'repeated, it walks back'],
    ['ogw placement undo 42', 'one edit, if its workers were not edited since'],
  ])
}
