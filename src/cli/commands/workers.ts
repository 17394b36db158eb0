// `ogw workers`: see the workers, drain them before maintenance, probe them after it.

import { Command } from 'commander'
import type { OutputOf } from '../../gateway/contract/schema.ts'
import { presentWorker, presentWorkers } from '../../tui/present/workers.ts'
import type { CliContext } from '../context.ts'
import { printOrFollow } from '../follow.ts'
import {
  addChangeOptions,
  addExamples,
  addWatchOption,
  type ChangeFlags,
  changeFields,
} from '../options.ts'
import { checkOutcomes, outcomesInWords } from '../outcomes.ts'
import { renderFacts } from '../table.ts'

export function workersCommand(context: CliContext): Command {
  const workers = new Command('workers').description('see workers, drain and probe them')
  workers.addCommand(listCommand(context))
  workers.addCommand(showCommand(context))
  workers.addCommand(
    changeCommand(context, 'workers.drain', {
      name: 'drain',
      description: 'send no new requests there; running ones finish, a restart keeps it',
      force: 'also where a model is left without a worker',
    }),
  )
  workers.addCommand(
    changeCommand(context, 'workers.resume', {
      name: 'resume',
      description: 'end the drain',
      force: 'overrule a guard of the gateway',
    }),
  )
  workers.addCommand(probeCommand(context))
  return addExamples(workers, [
    ['ogw workers', 'all of them'],
    ['ogw workers show node-1', 'one, with its addresses and rules'],
    ['ogw workers drain node-1 node-2', 'before maintenance'],
    ['ogw workers probe', 'look again now at those that are down'],
  ])
}

function listCommand(context: CliContext): Command {
  const list = new Command('list').description('list the workers, in the order of the config')
  addWatchOption(list).action(async (flags: { watch?: boolean }) => {
    await printOrFollow(context, flags.watch === true, {
      read: () => context.admin().call('workers.list', {}),
      human: (rows) => () => presentWorkers(rows),
    })
  })
  return addExamples(list, [
    ["ogw workers list --json | jq -r '.[].name'", 'names for a script'],
    ['ogw workers list --watch', 'again after each change'],
  ])
}

function showCommand(context: CliContext): Command {
  const show = new Command('show').description('show one worker').argument('<worker>', 'its name')
  addWatchOption(show).action(async (worker: string, flags: { watch?: boolean }) => {
    await printOrFollow(context, flags.watch === true, {
      read: () => context.admin().call('workers.show', { worker }),
      human: (row) => (look) => renderFacts(presentWorker(row), look),
    })
  })
  return addExamples(show, [['ogw workers show node-1', 'addresses, slots, inventory, rules']])
}

interface ChangeWords {
  name: string
  description: string
  force: string
}

function changeCommand(
  context: CliContext,
  operation: 'workers.drain' | 'workers.resume',
  { name, description, force }: ChangeWords,
): Command {
  const command = new Command(name)
    .description(description)
    .argument('<worker...>', 'names as in `ogw workers`')
  addChangeOptions(command, force).action(async (workers: string[], flags: ChangeFlags) => {
    const outcomes = await context.admin().call(operation, { workers, ...changeFields(flags) })
    printOutcomes(context, outcomes)
  })
  return addExamples(command, [[`ogw workers ${name} node-1`, description.replace(/;.*/, '')]])
}

function probeCommand(context: CliContext): Command {
  return addExamples(
    new Command('probe')
      .description('probe now and read the inventory again')
      .argument('[worker...]', 'all of them where none is named')
      .action(async (workers: string[]) => {
        const input = workers.length === 0 ? {} : { workers }
        printOutcomes(context, await context.admin().call('workers.probe', input))
      }),
    [
      ['ogw workers probe', 'every worker'],
      ['ogw workers probe node-3', 'a host that was just switched on'],
    ],
  )
}

function printOutcomes(context: CliContext, outcomes: OutputOf<'workers.drain'>): void {
  checkOutcomes(outcomes)
  context.print(outcomes, () => outcomesInWords(outcomes))
}
