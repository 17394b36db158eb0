// `ogw models`: the operators' inventory, unfiltered, and what to do with models across workers.
// Pulling stands in models-pull.ts.

import { Command } from 'commander'
import type { ModelRow } from '../../gateway/contract/schema/models.ts'
import { presentCopies, presentModel, presentModels } from '../../tui/present/models.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import { printOrFollow } from '../follow.ts'
import {
  addChangeOptions,
  addExamples,
  addWatchOption,
  type ChangeFlags,
  changeFields,
  collect,
} from '../options.ts'
import { checkOutcomes, outcomesInWords } from '../outcomes.ts'
import { type Look, renderFacts, renderTable } from '../table.ts'
import { pullCommand } from './models-pull.ts'

export function modelsCommand(context: CliContext): Command {
  const models = new Command('models').description('see, load, unload, pull and delete models')
  models.addCommand(listCommand(context))
  models.addCommand(showCommand(context))
  models.addCommand(
    moveCommand(context, 'load', 'load a model, on the worker that a request would go to'),
  )
  models.addCommand(
    moveCommand(context, 'unload', 'free the memory of a model, wherever it is loaded'),
  )
  models.addCommand(pullCommand(context))
  models.addCommand(removeCommand(context))
  return addExamples(models, [
    ['ogw models', 'all that any worker has'],
    ['ogw models show qwen3:8b', 'its copies, and whether they differ'],
    ['ogw models pull qwen3:8b --worker node-2', 'with a progress bar'],
    ['ogw models unload qwen3:8b', 'on every worker that has it loaded'],
  ])
}

function listCommand(context: CliContext): Command {
  const list = new Command('list').description('list every model that any worker has')
  addWatchOption(list).action(async (flags: { watch?: boolean }) => {
    await printOrFollow(context, flags.watch === true, {
      read: () => context.admin().call('models.list', {}),
      human: (rows) => () => presentModels(rows),
    })
  })
  return addExamples(list, [
    ['ogw models list --json | jq ".[] | select(.drift) | .model"', 'names whose copies differ'],
  ])
}

function showCommand(context: CliContext): Command {
  const show = new Command('show')
    .description('show one model and its copies')
    .argument('<model>', 'its name')
    .action(async (model: string) => {
      const row = await context.admin().call('models.show', { model })
      context.print(row, (look) => modelInWords(row, context.io.now(), look))
    })
  return addExamples(show, [['ogw models show qwen3:8b', 'digest, size and context per worker']])
}

function modelInWords(row: ModelRow, now: number, look: Look): string {
  const facts = renderFacts(presentModel(row), look)
  return row.copies.length === 0 ? facts : `${facts}\n${renderTable(presentCopies(row, now), look)}`
}

interface WorkerFlags extends ChangeFlags {
  worker?: string[]
  all?: boolean
}

function moveCommand(context: CliContext, name: 'load' | 'unload', what: string): Command {
  const command = new Command(name)
    .description(what)
    .argument('<model>', 'its name')
    .option('--worker <name>', 'only there; may be said several times', collect)
  const force =
    name === 'load' ? 'overrule a guard of the gateway' : 'also while requests run on it'
  addChangeOptions(command, force).action(async (model: string, flags: WorkerFlags) => {
    const { worker: workers } = flags
    const input = { model, ...(workers !== undefined && { workers }), ...changeFields(flags) }
    const outcomes = await context.admin().call(`models.${name}`, input)
    checkOutcomes(outcomes)
    context.print(outcomes, () => outcomesInWords(outcomes))
  })
  return addExamples(command, [
    [`ogw models ${name} qwen3:8b`, what.replace(/^.*, /, '')],
    [`ogw models ${name} qwen3:8b --worker node-2`, 'on that one'],
  ])
}

function removeCommand(context: CliContext): Command {
  const command = new Command('rm')
    .description('delete a model from the disks of workers')
    .argument('<model>', 'its name')
    .option('--worker <name>', 'from there; may be said several times', collect)
    .option('--all', 'from every worker that has it')
  addChangeOptions(command, 'also where no worker is left that has it').action(
    async (model: string, flags: WorkerFlags) => {
      const workers = await workersToClean(context, model, flags)
      if (flags.dryRun !== true) {
        await context.confirm(`Delete ${model} from ${workers.join(', ')}?`)
      }
      const input = { model, workers, ...changeFields(flags) }
      const outcomes = await context.admin().call('models.rm', input)
      checkOutcomes(outcomes)
      context.print(outcomes, () => outcomesInWords(outcomes))
    },
  )
  return addExamples(command, [
    ['ogw models rm qwen3:8b --worker node-2', 'asks first'],
    ['ogw models rm qwen3:8b --all --yes', 'for scripts'],
  ])
}

async function workersToClean(
  context: CliContext,
  model: string,
  { worker: named, all }: WorkerFlags,
): Promise<string[]> {
  if ((named === undefined) === (all !== true)) {
    throw new CliError('usage', 'say from which workers: --worker NAME, or --all')
  }
  if (named !== undefined) return named
  const { copies } = await context.admin().call('models.show', { model })
  if (copies.length === 0) throw new CliError('notFound', `no worker has ${model} installed`)
  return copies.map(({ worker }) => worker)
}
