// `ogw events`: what happened lately, one line each, and with -f what happens from now on.

import { Command } from 'commander'
import type { EventRow } from '../../gateway/contract/schema/gateway.ts'
import { toAscii } from '../../tui/present/glyphs.ts'
import { presentEvent } from '../../tui/present/gateway.ts'
import type { CliContext } from '../context.ts'
import { addExamples, wholeNumber } from '../options.ts'
import { type Look, paint } from '../table.ts'

interface EventFlags {
  follow?: boolean
  limit: number
}

export function eventsCommand(context: CliContext): Command {
  const command = new Command('events')
    .description('show what happened lately, oldest first')
    .option('-f, --follow', 'then what happens, until Ctrl-C')
    .option('--limit <count>', 'at most so many of the past', wholeNumber, 50)
    .action(async ({ follow, limit }: EventFlags) => {
      if (follow === true) {
        await followEvents(context, limit)
        return
      }
      const events = await context.admin().call('events', { limit })
      context.print(events, (look) => events.map((event) => eventLine(event, look)).join('\n'))
    })
  return addExamples(command, [
    ['ogw events', 'the last 50'],
    ['ogw events -f', 'until Ctrl-C'],
    ['ogw events -f --json | jq -r \'select(.severity == "error") | .detail\'', 'for a script'],
  ])
}

async function followEvents(context: CliContext, limit: number): Promise<void> {
  const lines = context.admin().stream('events.follow', { limit }, context.io.interrupted())
  for await (const event of lines) {
    context.printLine(event, (look) => eventLine(event, look))
  }
}

function eventLine(event: EventRow, look: Look): string {
  const { text, tone } = presentEvent(event)
  return paint(look.ascii ? toAscii(text) : text, tone, look)
}
