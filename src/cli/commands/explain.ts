// `ogw explain MODEL`: what would happen to a request now, with the gates and every term of the
// score for each worker.

import { Command } from 'commander'
import { explanationInShort } from '../../tui/present/gateway.ts'
import { presentExplanation } from '../../tui/present/requests.ts'
import type { CliContext } from '../context.ts'
import { addExamples, wholeNumber } from '../options.ts'
import { renderTable } from '../table.ts'

interface ExplainFlags {
  tools?: boolean
  vision?: boolean
  ctx?: number
  key?: string
}

export function explainCommand(context: CliContext): Command {
  const command = new Command('explain')
    .description('say where a request would run now, and why')
    .argument('<model>', 'as a client would name it')
    .option('--tools', 'the request uses tools')
    .option('--vision', 'the request has images')
    .option('--ctx <tokens>', 'prompt and answer take so many tokens', wholeNumber)
    .option('--key <id>', 'judge as the tenant of this key')
    .action(async (model: string, { tools, vision, ctx, key }: ExplainFlags) => {
      const explained = await context.admin().call('explain', {
        model,
        ...(tools === true && { tools }),
        ...(vision === true && { vision }),
        ...(ctx !== undefined && { ctx }),
        ...(key !== undefined && { key }),
      })
      context.print(
        explained,
        (look) =>
          `${explanationInShort(explained)}\n\n${renderTable(presentExplanation(explained), look)}`,
      )
    })
  return addExamples(command, [
    ['ogw explain qwen3:8b', 'gates and score per worker'],
    ['ogw explain qwen3:8b --tools --ctx 16000', 'for a coding agent'],
  ])
}
