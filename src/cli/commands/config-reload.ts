// `ogw config reload`: the running gateway reads its config file again, as one transaction.

import { Command } from 'commander'
import type { Reload } from '../../gateway/contract/schema/gateway.ts'
import { sanitise } from '../../tui/present/text.ts'
import type { CliContext } from '../context.ts'
import { addChangeOptions, addExamples, type ChangeFlags, changeFields } from '../options.ts'

export function configReloadCommand(context: CliContext): Command {
  const command = new Command('reload').description(
    'make the running gateway read its config file again; a bad file changes nothing',
  )
  addChangeOptions(command, 'overrule a guard of the gateway').action(
    async (flags: ChangeFlags) => {
      const reload = await context.admin().call('config.reload', changeFields(flags))
      for (const warning of reload.warnings) context.say(`warning: ${warning}`)
      context.print(reload, () => reloadInWords(reload, flags.dryRun === true))
    },
  )
  return addExamples(command, [
    ['ogw config reload', 'the same as SIGHUP, with an answer'],
    ['ogw config reload --dry-run', 'what would change'],
  ])
}

function reloadInWords(reload: Reload, dryRun: boolean): string {
  const lines: string[] = []
  if (!reload.changed) lines.push('no change')
  else lines.push(`${dryRun ? 'would change' : 'changed'}: ${reload.keys.join(', ')}`)
  if (reload.restart_needed.length > 0) {
    lines.push(`needs a restart: ${reload.restart_needed.join(', ')}`)
  }
  return lines.map(sanitise).join('\n')
}
