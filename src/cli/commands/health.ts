// `ogw health`: one answer for scripts and container health checks. 0 healthy, 7 unhealthy,
// 4 not reachable.

import { Command } from 'commander'
import { sanitise } from '../../tui/present/text.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import { addExamples } from '../options.ts'

export function healthCommand(context: CliContext): Command {
  const command = new Command('health')
    .description('say whether the gateway is healthy; the exit code tells it too')
    .option('-q, --quiet', 'print nothing, only the exit code')
    .action(async ({ quiet }: { quiet?: boolean }) => {
      const health = await context.admin().call('health', {})
      if (quiet !== true) {
        context.print(health, () =>
          health.healthy ? 'healthy' : health.problems.map(sanitise).join('\n'),
        )
      }
      if (!health.healthy) throw new CliError('unhealthy', quiet === true ? '' : 'unhealthy')
    })
  return addExamples(command, [
    ['ogw health', 'healthy, or what is wrong'],
    ['ogw health --quiet || systemctl restart ogw', 'in a script'],
  ])
}
