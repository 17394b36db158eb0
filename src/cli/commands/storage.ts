// `ogw storage`: every file in which the gateway keeps state.

import { Command } from 'commander'
import { presentStorage } from '../../tui/present/gateway.ts'
import type { CliContext } from '../context.ts'
import { addExamples } from '../options.ts'

export function storageCommand(context: CliContext): Command {
  const command = new Command('storage')
    .description('list the state files: path, size, last write, what they hold')
    .action(async () => {
      const files = await context.admin().call('storage.list', {})
      context.print(files, () => presentStorage(files, context.io.now()))
    })
  return addExamples(command, [
    ['ogw storage', 'all of them'],
    ["ogw storage --json | jq -r '.[].path'", 'what to back up'],
  ])
}
