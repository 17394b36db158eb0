// Credits over the admin socket: what is used and left, and changes for the window that runs.

import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/schema.ts'
import { AdminError } from '../../contract/faults.ts'
import type { CreditRow } from '../../contract/schema/access.ts'
import type { ParsedInputOf } from '../../contract/schema.ts'
import type { EventRing } from '../../observe/event-ring.ts'
import type { Payer } from '../../policy/credits.ts'
import type { CreditsState } from '../../state/credits-state.ts'
import type { TenantsState } from '../../state/tenants-state.ts'
import type { Caller, Handlers } from '../handlers.ts'
import { accountRow } from '../rows/access.ts'
import { checkRevision } from './keys.ts'
import { tenantNamed } from './tenants.ts'

export interface CreditsHandlerDeps {
  clock: Clock
  credits: CreditsState
  /** Accounts have no revision: what an operator looked at is the tenant's limit. */
  state: TenantsState
  events: EventRing
  /** As they are in force. */
  tenants(): Config['tenants']
}

type Name = Extract<keyof Handlers, `credits.${string}`>
type Asked = ParsedInputOf<'credits.reset'>

export function creditsHandlers(deps: CreditsHandlerDeps): Pick<Handlers, Name> {
  return {
    'credits.show': ({ tenant }) => show(deps, tenant),
    'credits.grant': (input, caller) =>
      change(deps, { input, caller, verb: 'grant' }, (payer) => grant(deps, payer, input)),
    'credits.reset': (input, caller) =>
      change(deps, { input, caller, verb: 'reset' }, (payer) => deps.credits.reset(payer)),
  }
}

function show(deps: CreditsHandlerDeps, tenant: string | undefined): CreditRow[] {
  const all = deps.tenants()
  const wanted = tenant === undefined ? all : [tenantNamed(all, tenant)]
  return wanted.flatMap(({ name }) => {
    const actors = deps.credits.actors(name)
    return [{ tenant: name, account: undefined }, ...actors].map((payer) => rowOf(deps, payer))
  })
}

function grant(
  { credits }: CreditsHandlerDeps,
  payer: Payer,
  { tokens, take_back: takeBack }: ParsedInputOf<'credits.grant'>,
): Promise<void> {
  if (takeBack !== true) return credits.grant(payer, tokens)
  const { granted } = credits.state(payer)
  if (granted >= tokens) return credits.grant(payer, -tokens)
  const message = `only ${granted} tokens were granted in this window`
  throw new AdminError({ code: 'invalid_input', message })
}

interface Changing {
  input: Asked
  caller: Caller
  verb: 'grant' | 'reset'
}

async function change(
  deps: CreditsHandlerDeps,
  { input, caller, verb }: Changing,
  act: (payer: Payer) => Promise<void>,
): Promise<CreditRow> {
  const { name: tenant } = tenantNamed(deps.tenants(), input.tenant)
  checkRevision(deps.state.revision, input.if_revision, deps.state.lastActor)
  const payer = { tenant, account: input.actor }
  const before = rowOf(deps, payer)
  if (input.dry_run === true) return before
  await act(payer)
  const after = rowOf(deps, payer)
  caller.note({ changed: true, before, after, message: `credits ${verb}` })
  const object = input.actor === undefined ? tenant : `${tenant} ${input.actor}`
  const detail = `used ${after.used}, granted ${after.granted}`
  deps.events.add({
    severity: 'info',
    event: `credits.${verb}`,
    object,
    detail,
    actor: caller.actor,
  })
  return after
}

function rowOf(deps: CreditsHandlerDeps, { tenant: name, account }: Payer): CreditRow {
  const tenant = tenantNamed(deps.tenants(), name)
  const limit = account === undefined ? tenant.credits : tenant.actor_credits
  const state = deps.credits.state({ tenant: name, account })
  return { tenant: name, actor: account ?? null, limit, ...accountRow(state, tenant, limit) }
}
