// The changes of `ogw placement`. Each may be tried with --dry-run; an edit of several workers is
// one transaction and one entry of the history.

import { Argument, Command } from 'commander'
import type { CliContext } from '../context.ts'
import { addChangeOptions, addExamples, type ChangeFlags, changeFields } from '../options.ts'
import { printChange } from '../placement-change.ts'

const FORCE = 'also where a model is left without a worker that has it'

export function addEditCommands(placement: Command, context: CliContext): void {
  placement.addCommand(
    ruleCommand(context, 'allow', 'let it run there, whatever broader rules say'),
  )
  placement.addCommand(
    ruleCommand(context, 'deny', 'keep it from there, whatever broader rules say'),
  )
  placement.addCommand(ruleCommand(context, 'clear', 'remove the rules of exactly this pattern'))
  placement.addCommand(modeCommand(context))
  placement.addCommand(presetCommand(context))
  placement.addCommand(resetCommand(context))
}

function ruleCommand(context: CliContext, name: 'allow' | 'deny' | 'clear', what: string): Command {
  const command = new Command(name)
    .description(what)
    .argument('<pattern>', 'a model such as qwen3:8b, or a prefix such as "gemma4:*"')
    .argument('<worker...>', 'names as in `ogw workers`')
  addChangeOptions(command, FORCE).action(
    async (pattern: string, workers: string[], flags: ChangeFlags) => {
      const input = { pattern, workers, ...changeFields(flags) }
      printChange(context, flags, await context.admin().call(`placement.${name}`, input))
    },
  )
  return addExamples(command, [
    [`ogw placement ${name} qwen3:8b node-2`, 'one model on one worker'],
    [`ogw placement ${name} "gemma4:*" node-1 node-2`, 'a family on two, in one edit'],
    [`ogw placement ${name} qwen3:8b node-2 --dry-run`, 'what it would change'],
  ])
}

type Mode = 'allow_all' | 'whitelist'

function modeCommand(context: CliContext): Command {
  const command = new Command('mode')
    .description('say what holds where no rule matches')
    .argument('<worker>', 'name as in `ogw workers`')
    .addArgument(new Argument('<mode>', 'what holds').choices(['allow_all', 'whitelist']))
  addChangeOptions(command, FORCE).action(
    async (worker: string, mode: Mode, flags: ChangeFlags) => {
      const input = { workers: [worker], mode, ...changeFields(flags) }
      printChange(context, flags, await context.admin().call('placement.mode', input))
    },
  )
  return addExamples(command, [
    ['ogw placement mode node-2 whitelist', 'only what a rule allows'],
    ['ogw placement mode node-2 allow_all', 'all that no rule denies'],
  ])
}

type Preset = 'only-installed' | 'block-all' | 'allow-all'

function presetCommand(context: CliContext): Command {
  const command = new Command('preset')
    .description('replace all rules of a worker by a ready set')
    .argument('<worker>', 'name as in `ogw workers`')
    .addArgument(
      new Argument('<preset>', 'the ready set').choices([
        'only-installed',
        'block-all',
        'allow-all',
      ]),
    )
  addChangeOptions(command, FORCE).action(
    async (worker: string, preset: Preset, flags: ChangeFlags) => {
      const input = { workers: [worker], preset, ...changeFields(flags) }
      printChange(context, flags, await context.admin().call('placement.preset', input))
    },
  )
  return addExamples(command, [
    ['ogw placement preset node-2 only-installed', 'whitelist what it has now'],
    ['ogw placement preset node-2 block-all', 'nothing new goes there'],
    ['ogw placement preset node-2 allow-all', 'no rule at all'],
  ])
}

function resetCommand(context: CliContext): Command {
  const command = new Command('reset')
    .description('drop what operators set: the rules of the config hold again')
    .argument('<worker...>', 'names as in `ogw workers`')
  addChangeOptions(command, FORCE).action(async (workers: string[], flags: ChangeFlags) => {
    const input = { workers, ...changeFields(flags) }
    printChange(context, flags, await context.admin().call('placement.reset', input))
  })
  return addExamples(command, [['ogw placement reset node-2', 'back to the config']])
}
