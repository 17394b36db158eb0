// `ogw tenants`: who shares the fleet, and with which limits.

import { Command, Option } from 'commander'
import { TENANT_FIELDS } from '../../gateway/contract/tenant-fields.ts'
import type { TenantField } from '../../gateway/contract/tenant-fields.ts'
import { presentTenant, presentTenants } from '../../tui/present/access.ts'
import type { CliContext } from '../context.ts'
import { addExamples, collect, wholeNumber } from '../options.ts'
import { renderFacts } from '../table.ts'

interface SetFlags {
  weight?: number
  maxInFlight?: number
  credits?: number
  actorCredits?: number
  creditWindow?: string
  models?: string[]
  denyModels?: string[]
  priority?: 'interactive' | 'background'
  unset?: TenantField[]
  dryRun?: boolean
}

export function tenantsCommand(context: CliContext): Command {
  const tenants = new Command('tenants').description('see tenants and set their limits')
  tenants.addCommand(listCommand(context))
  tenants.addCommand(showCommand(context))
  tenants.addCommand(setCommand(context))
  return addExamples(tenants, [
    ['ogw tenants', 'all of them'],
    ['ogw tenants set team --weight 3', 'three times the share of a tenant of weight 1'],
  ])
}

function listCommand(context: CliContext): Command {
  const list = new Command('list').description('list the tenants')
  list.action(async () => {
    const rows = await context.admin().call('tenants.list', {})
    context.print(rows, () => presentTenants(rows))
  })
  return addExamples(list, [["ogw tenants --json | jq -r '.[].name'", 'names for a script']])
}

function showCommand(context: CliContext): Command {
  const show = new Command('show').description('show one tenant').argument('<tenant>', 'its name')
  show.action(async (tenant: string) => {
    const row = await context.admin().call('tenants.show', { tenant })
    context.print(row, (look) => renderFacts(presentTenant(row), look))
  })
  return addExamples(show, [['ogw tenants show default', 'its limits and model lists']])
}

function setCommand(context: CliContext): Command {
  const set = new Command('set')
    .description('set limits of a tenant at once and over restarts, or make one')
    .argument('<tenant>', 'its name')
    .option('--weight <number>', 'share of the fleet while tenants compete', Number)
    .option('--max-in-flight <count>', 'requests at once; 0 is no limit', wholeNumber)
    .option('--credits <tokens>', 'per window; 0 is no limit', wholeNumber)
    .option('--actor-credits <tokens>', 'per window and actor; 0 is no limit', wholeNumber)
    .option('--credit-window <duration>', 'as in 24h, counted from 00:00 UTC')
    .option('--models <pattern>', 'only these models; may be repeated', collect)
    .option('--deny-models <pattern>', 'not these models; may be repeated', collect)
    .addOption(
      new Option('--priority <class>', 'of its requests').choices(['interactive', 'background']),
    )
    .addOption(
      new Option('--unset <field...>', 'what the config says holds again').choices(TENANT_FIELDS),
    )
    .option('-n, --dry-run', 'say what would change and change nothing')
    .action(async (tenant: string, flags: SetFlags) => {
      const row = await context.admin().call('tenants.set', { tenant, ...fieldsOf(flags) })
      context.print(row, (look) => renderFacts(presentTenant(row), look))
    })
  return addExamples(set, [
    ['ogw tenants set team --credits 1000000', 'tokens a day'],
    ['ogw tenants set team --credits 0', 'no limit'],
    ['ogw tenants set team --unset credits', 'what the config says'],
    ['ogw tenants set batch --priority background', 'behind everybody else, but never for ever'],
  ])
}

function fieldsOf(flags: SetFlags) {
  return {
    ...(flags.weight !== undefined && { weight: flags.weight }),
    ...(flags.maxInFlight !== undefined && { max_in_flight: flags.maxInFlight }),
    ...(flags.credits !== undefined && { credits: flags.credits }),
    ...(flags.actorCredits !== undefined && { actor_credits: flags.actorCredits }),
    ...(flags.creditWindow !== undefined && { credit_window: flags.creditWindow }),
    ...(flags.models !== undefined && { allowed_models: flags.models }),
    ...(flags.denyModels !== undefined && { denied_models: flags.denyModels }),
    ...(flags.priority !== undefined && { priority: flags.priority }),
    ...(flags.unset !== undefined && { unset: flags.unset }),
    ...(flags.dryRun === true && { dry_run: true }),
  }
}
