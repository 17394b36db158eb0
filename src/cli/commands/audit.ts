// `ogw audit`: the changes that operators made, newest first.

import { Command } from 'commander'
import { presentAudit } from '../../tui/present/gateway.ts'
import type { CliContext } from '../context.ts'
import { addExamples, wholeNumber } from '../options.ts'

export function auditCommand(context: CliContext): Command {
  const command = new Command('audit')
    .description('list the changes that operators made, newest first')
    .option('--limit <count>', 'at most so many', wholeNumber, 50)
    .action(async ({ limit }: { limit: number }) => {
      const entries = await context.admin().call('audit.list', { limit })
      context.print(entries, () => presentAudit(entries))
    })
  return addExamples(command, [
    ['ogw audit', 'the last 50'],
    ['ogw audit --json | jq ".[0] | {before, after}"', 'what the last one changed'],
  ])
}
