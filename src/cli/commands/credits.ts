// `ogw credits`: tokens that tenants and actors have used and have left.

import { Command } from 'commander'
import { presentCredits } from '../../tui/present/access.ts'
import type { CliContext } from '../context.ts'
import { addExamples, wholeNumber } from '../options.ts'

interface ActorFlag {
  actor?: string
}

interface GrantFlags extends ActorFlag {
  takeBack?: boolean
}

export function creditsCommand(context: CliContext): Command {
  const credits = new Command('credits').description('see, grant and reset credits')
  credits.addCommand(showCommand(context))
  credits.addCommand(grantCommand(context))
  credits.addCommand(resetCommand(context))
  return addExamples(credits, [
    ['ogw credits', 'of everybody'],
    ['ogw credits grant team 500000', 'more, until the window ends'],
  ])
}

function showCommand(context: CliContext): Command {
  const show = new Command('show')
    .description('show what is used and left in this window')
    .argument('[tenant]', 'all of them where none is named')
    .action(async (tenant: string | undefined) => {
      const rows = await context
        .admin()
        .call('credits.show', tenant === undefined ? {} : { tenant })
      context.print(rows, () => presentCredits(rows))
    })
  return addExamples(show, [['ogw credits show team', 'with each of its actors']])
}

function grantCommand(context: CliContext): Command {
  const grant = new Command('grant')
    .description('add tokens to what may be used in this window')
    .argument('<tenant>', 'its name')
    .argument('<tokens>', 'how many', wholeNumber)
    .option('--actor <actor>', 'to one of its actors, as in `ogw credits show`')
    .option('--take-back', 'take so many of those granted in this window back')
    .action(async (tenant: string, tokens: number, flags: GrantFlags) => {
      const row = await context.admin().call('credits.grant', {
        tenant,
        tokens,
        ...actorOf(flags),
        ...(flags.takeBack === true && { take_back: true }),
      })
      context.print(row, () => presentCredits([row]))
    })
  return addExamples(grant, [
    ['ogw credits grant team 500000', 'until the window ends'],
    ['ogw credits grant team 500000 --take-back', 'it was too much'],
  ])
}

function resetCommand(context: CliContext): Command {
  const reset = new Command('reset')
    .description('count from zero again in this window')
    .argument('<tenant>', 'its name')
    .option('--actor <actor>', 'of one of its actors, as in `ogw credits show`')
    .action(async (tenant: string, flags: ActorFlag) => {
      const row = await context.admin().call('credits.reset', { tenant, ...actorOf(flags) })
      context.print(row, () => presentCredits([row]))
    })
  return addExamples(reset, [['ogw credits reset team', 'as if nothing had been used today']])
}

function actorOf({ actor }: ActorFlag): ActorFlag {
  return actor === undefined ? {} : { actor }
}
