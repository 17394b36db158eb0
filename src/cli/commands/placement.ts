// `ogw placement`: which models may run on which workers. The changes stand in placement-edit.ts,
// documents and history in placement-history.ts.

import { Command } from 'commander'
import { LEGEND, presentMatrix, presentWhy } from '../../tui/present/placement.ts'
import { toAscii } from '../../tui/present/glyphs.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import { printOrFollow } from '../follow.ts'
import { addExamples, addWatchOption } from '../options.ts'
import { addEditCommands } from './placement-edit.ts'
import { addHistoryCommands } from './placement-history.ts'

export function placementCommand(context: CliContext): Command {
  const placement = new Command('placement').description(
    'say which models may run on which workers',
  )
  placement.addCommand(showCommand(context))
  placement.addCommand(whyCommand(context))
  addEditCommands(placement, context)
  addHistoryCommands(placement, context)
  return addExamples(placement, [
    ['ogw placement', 'the matrix of models and workers'],
    ['ogw placement allow qwen3:8b node-2', 'whatever broader rules say'],
    ['ogw placement deny "gemma4:*" node-1 -n', 'what would change'],
    ['ogw placement why qwen3:8b node-2', 'the rule that decides'],
    ['ogw placement undo', 'take the last edit back'],
  ])
}

interface ShowFlags {
  worker?: string
  watch?: boolean
}

function showCommand(context: CliContext): Command {
  const show = new Command('show')
    .description('show the matrix of models and workers')
    .argument('[model]', 'only this one')
    .option('--worker <name>', 'only this one')
  addWatchOption(show).action(async (model: string | undefined, flags: ShowFlags) => {
    const { worker } = flags
    const input = { ...(model !== undefined && { model }), ...(worker !== undefined && { worker }) }
    if (!context.options.json && context.io.stdout.isTTY === true) {
      context.say(context.options.ascii ? toAscii(LEGEND) : LEGEND)
    }
    await printOrFollow(context, flags.watch === true, {
      read: () => context.admin().call('placement.show', input),
      human: (rows) => () => (rows.length === 0 ? 'no model is known yet' : presentMatrix(rows)),
    })
  })
  return addExamples(show, [
    ['ogw placement show', 'every model'],
    ['ogw placement show qwen3:8b', 'one row'],
    ['ogw placement show --worker node-2', 'one column'],
  ])
}

function whyCommand(context: CliContext): Command {
  const why = new Command('why')
    .description('say which rule decides, and which rules lost')
    .argument('<model>', 'a model, installed or not')
    .argument('[worker]', 'only this one')
    .action(async (model: string, worker: string | undefined) => {
      const input = worker === undefined ? { model } : { model, worker }
      const verdicts = await context.admin().call('placement.why', input)
      const first = verdicts[0]
      if (worker !== undefined && first === undefined) {
        throw new CliError('notFound', `there is no worker "${worker}"`)
      }
      context.print(worker === undefined ? verdicts : first, () => presentWhy(verdicts))
    })
  return addExamples(why, [
    ['ogw placement why qwen3:8b', 'on every worker'],
    ['ogw placement why qwen3:8b node-2 --json', 'one verdict, for a script'],
  ])
}
