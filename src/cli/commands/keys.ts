// `ogw keys`: make, list and revoke the keys of clients.

import { readFileSync } from 'node:fs'
import { Command, Option } from 'commander'
import { presentKeys } from '../../tui/present/access.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../exit-codes.ts'
import { addExamples, collect } from '../options.ts'

interface GrantFlags {
  tenant: string
  scope?: 'read' | 'infer' | 'manage'
  expires?: string
  models?: string[]
  denyModels?: string[]
  trustIdentityHeaders?: boolean
}

export function keysCommand(context: CliContext): Command {
  const keys = new Command('keys').description('make, list and revoke the keys of clients')
  keys.addCommand(createCommand(context))
  keys.addCommand(addEd25519Command(context))
  keys.addCommand(listCommand(context))
  keys.addCommand(revokeCommand(context))
  return addExamples(keys, [
    ['ogw keys create --tenant default', 'shown once: it cannot be read again'],
    ['ogw keys', 'all of them, without the keys themselves'],
    ['ogw keys revoke k1a2b3c4d5', 'it lets nobody in any more'],
  ])
}

function addGrantOptions(command: Command): Command {
  return command
    .requiredOption('--tenant <name>', 'whose it is, as in `ogw tenants`')
    .addOption(
      new Option('--scope <scope>', 'what it may do; each holds those before it')
        .choices(['read', 'infer', 'manage'])
        .default('infer'),
    )
    .option('--expires <duration>', 'from now, as in 12h or 30d')
    .option('--models <pattern>', 'only these models; may be repeated', collect)
    .option('--deny-models <pattern>', 'not these models; may be repeated', collect)
    .option('--trust-identity-headers', 'believe the user headers of Open WebUI')
}

function grantFields(flags: GrantFlags) {
  return {
    tenant: flags.tenant,
    ...(flags.scope !== undefined && { scope: flags.scope }),
    ...(flags.expires !== undefined && { expires: flags.expires }),
    ...(flags.models !== undefined && { allowed_models: flags.models }),
    ...(flags.denyModels !== undefined && { denied_models: flags.denyModels }),
    ...(flags.trustIdentityHeaders === true && { trust_identity_headers: true }),
  }
}

function createCommand(context: CliContext): Command {
  const create = new Command('create').description('make a key and show it, once')
  addGrantOptions(create).action(async (flags: GrantFlags) => {
    const made = await context.admin().call('keys.create', grantFields(flags))
    context.print(made, () => `${made.key}\n`)
    context.say(`key ${made.id} of tenant ${made.tenant}; it is not shown again`)
  })
  return addExamples(create, [
    ['ogw keys create --tenant team', 'for inference, for ever, for all models of the tenant'],
    ['ogw keys create --tenant team --models "qwen3:*" --expires 30d', 'less than that'],
    ['ogw keys create --tenant ops --scope manage', 'may pull and delete models'],
  ])
}

function addEd25519Command(context: CliContext): Command {
  const add = new Command('add-ed25519')
    .description('let the ollama CLI in by its own key (it signs with OLLAMA_AUTH=1)')
    .argument('<public-key-file>', 'such as ~/.ollama/id_ed25519.pub')
  addGrantOptions(add).action(async (file: string, flags: GrantFlags) => {
    const public_key = readLine(file)
    const key = await context
      .admin()
      .call('keys.add_ed25519', { ...grantFields(flags), public_key })
    context.print(key, () => `${key.id}\n`)
  })
  return addExamples(add, [
    [
      'ogw keys add-ed25519 ~/.ollama/id_ed25519.pub --tenant default',
      'of whoever uses ollama here',
    ],
  ])
}

function readLine(file: string): string {
  try {
    return readFileSync(file, 'utf8').split('\n', 1)[0] ?? ''
  } catch (cause) {
    throw new CliError('usage', `cannot read ${file}`, { cause })
  }
}

function listCommand(context: CliContext): Command {
  const list = new Command('list').description('list the keys, also those that let nobody in')
  list.action(async () => {
    const keys = await context.admin().call('keys.list', {})
    context.print(keys, () => presentKeys(keys, context.io.now()))
  })
  return addExamples(list, [["ogw keys --json | jq -r '.[].id'", 'ids for a script']])
}

function revokeCommand(context: CliContext): Command {
  const revoke = new Command('revoke')
    .description('let nobody in with a key any more; running requests finish')
    .argument('<id>', 'as in `ogw keys`')
    .action(async (id: string) => {
      const key = await context.admin().call('keys.revoke', { id })
      context.print(key, () => `${key.id} is revoked\n`)
    })
  return addExamples(revoke, [['ogw keys revoke k1a2b3c4d5', 'by its id, never by the key']])
}
