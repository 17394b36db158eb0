// Credits of the tenant, or of the actor under the cursor: grants, which are taken back, and
// resets, which are not.

import type { Console } from '../console.ts'
import { parseAmount } from '../form.ts'
import { confirm, sayBusy, sayFailure } from '../operate.ts'
import { limitText } from '../present/tenants.ts'
import { tokens } from '../present/units.ts'
import { sanitise } from '../present/text.ts'
import { actorUnderCursor, tenantUnderCursor } from '../screens/tenant-items.ts'
import { quoted } from './placement.ts'
import { tenantsRevision } from './tenant-policy.ts'

interface Payer {
  tenant: string
  actor: string | undefined
}

export function askGrant(console: Console): void {
  const view = console.fleet()
  const tenant = view === undefined ? undefined : tenantUnderCursor(view)
  if (view === undefined || tenant === undefined) return
  const payer = { tenant: tenant.name, actor: actorUnderCursor(view)?.actor }
  const revision = tenantsRevision(console)
  console.ask({
    kind: 'text',
    label: sanitise(`grant ${inWords(payer)} `),
    hint: 'tokens for this window, as in 500k or 2M',
    onSubmit: (text) => {
      if (text.trim() === '') return
      const amount = parseAmount(text)
      if (amount === undefined || amount === 0) {
        console.say('note', 'nothing was granted: write a number, as in 500000, 500k or 2M')
      } else console.inOrder(() => grant(console, { ...payer, tokens: amount, revision }))
    },
  })
}

async function grant(
  console: Console,
  { revision, ...ask }: Payer & { tokens: number; revision: number },
): Promise<void> {
  const cancel = sayBusy(console, `granting ${inWords(ask)} ${tokens(ask.tokens)}`)
  try {
    const { granted } = await console.admin.call('credits.grant', {
      ...payerFields(ask),
      tokens: ask.tokens,
      if_revision: Math.max(revision, console.acked.tenants),
    })
    const { undo } = console.ui.tenants
    console.updateTenants({ undo: [...undo, { kind: 'grant', ...ask }] })
    const twin = `credits grant ${quoted(ask.tenant)} ${ask.tokens}${actorFlag(ask)}`
    const said = `granted ${inWords(ask)} ${tokens(ask.tokens)}, ${tokens(granted)} in this window`
    console.say('done', `${said} · u undo · $ ogw ${twin}`)
  } catch (error) {
    sayFailure(console, error)
  } finally {
    cancel()
  }
}

/** Nobody remembers what was used before: that is asked for. */
export function askReset(console: Console): void {
  const view = console.fleet()
  const tenant = view === undefined ? undefined : tenantUnderCursor(view)
  if (view === undefined || tenant === undefined) return
  const actor = actorUnderCursor(view)
  const payer = { tenant: tenant.name, actor: actor?.actor }
  const account = actor === undefined ? tenant.account : actor.account
  const limit = actor === undefined ? tenant.credits : tenant.actor_credits
  const revision = tenantsRevision(console)
  confirm(console, {
    title: `count the credits of ${inWords(payer)} from zero?`,
    lines: [
      `${tokens(account?.used ?? 0)} of ${limitText(limit, view.theme.ascii)} are used in this window.`,
      'This cannot be undone.',
    ],
    yes: 'reset',
    onYes: () => console.inOrder(() => reset(console, payer, revision)),
  })
}

async function reset(console: Console, payer: Payer, revision: number): Promise<void> {
  const cancel = sayBusy(console, `resetting the credits of ${inWords(payer)}`)
  try {
    await console.admin.call('credits.reset', {
      ...payerFields(payer),
      if_revision: Math.max(revision, console.acked.tenants),
    })
    const twin = `credits reset ${quoted(payer.tenant)}${actorFlag(payer)}`
    console.say('done', `${inWords(payer)} has used nothing in this window · $ ogw ${twin}`)
  } catch (error) {
    sayFailure(console, error)
  } finally {
    cancel()
  }
}

export function inWords({ tenant, actor }: Payer): string {
  return actor === undefined ? tenant : `${actor} of ${tenant}`
}

export function payerFields({ tenant, actor }: Payer): { tenant: string; actor?: string } {
  return { tenant, ...(actor !== undefined && { actor }) }
}

export function actorFlag({ actor }: Payer): string {
  return actor === undefined ? '' : ` --actor ${quoted(actor)}`
}
