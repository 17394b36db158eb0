// `ogw usage`: tokens that were used, by tenant, actor or model.

import { Command, Option } from 'commander'
import { presentUsage } from '../../tui/present/access.ts'
import type { CliContext } from '../context.ts'
import { addExamples } from '../options.ts'

interface UsageFlags {
  by: 'tenant' | 'actor' | 'model'
  since: string
}

export function usageCommand(context: CliContext): Command {
  const usage = new Command('usage')
    .description('sum up the tokens that were used; 90 days are kept')
    .addOption(
      new Option('--by <what>', 'what a line is')
        .choices(['tenant', 'actor', 'model'])
        .default('tenant'),
    )
    .option('--since <duration>', 'until now, as in 24h or 7d', '7d')
    .action(async ({ by, since }: UsageFlags) => {
      const rows = await context.admin().call('usage', { by, since })
      context.print(rows, () => presentUsage(rows))
    })
  return addExamples(usage, [
    ['ogw usage', 'of each tenant in the last week'],
    ['ogw usage --by model --since 24h', 'of each model today'],
  ])
}
