// `ogw status`: the gateway and its fleet in one page.

import { Command } from 'commander'
import { presentStatus } from '../../tui/present/gateway.ts'
import type { CliContext } from '../context.ts'
import { printOrFollow } from '../follow.ts'
import { addExamples, addWatchOption } from '../options.ts'
import { renderFacts } from '../table.ts'

export function statusCommand(context: CliContext): Command {
  const command = new Command('status').description('show what runs and what is wrong')
  addWatchOption(command).action(async (flags: { watch?: boolean }) => {
    await printOrFollow(context, flags.watch === true, {
      read: () => context.admin().call('status', {}),
      human: (status) => (look) => renderFacts(presentStatus(status), look),
    })
  })
  return addExamples(command, [
    ['ogw status', 'once'],
    ['ogw status --watch', 'until Ctrl-C'],
    ['ogw status --json | jq .workers.up', 'how many workers are up'],
  ])
}
