// Taking back what this console did to tenants, the newest first. What somebody else has changed
// since is left alone.

import { AdminError } from '../../gateway/contract/faults.ts'
import type { Console } from '../console.ts'
import { sayBusy, sayFailure } from '../operate.ts'
import { tokens } from '../present/units.ts'
import type { TenantUndo } from '../state.ts'
import { quoted } from './placement.ts'
import { actorFlag, inWords, payerFields } from './tenant-credits.ts'
import { setTenant, tenantsRevision } from './tenant-policy.ts'

export function undoTenant(console: Console): void {
  console.inOrder(async () => {
    // Which one is the newest is known once the change before it is done: two presses are two.
    const last = console.ui.tenants.undo.at(-1)
    if (last === undefined) return
    const cancel = sayBusy(console, 'taking it back')
    try {
      const done =
        last.kind === 'set' ? await undoSet(console, last) : await undoGrant(console, last)
      if (done !== undefined) console.say('done', done)
    } catch (error) {
      if (isOutOfReach(error)) forget(console, last)
      sayFailure(console, error)
    } finally {
      cancel()
    }
  })
}

/** Its window is over, or its tenant is gone: it must not stand before the older ones for ever. */
function isOutOfReach(error: unknown): boolean {
  return (
    error instanceof AdminError && (error.code === 'invalid_input' || error.code === 'not_found')
  )
}

type SetUndo = Extract<TenantUndo, { kind: 'set' }>
type GrantUndo = Extract<TenantUndo, { kind: 'grant' }>

async function undoSet(console: Console, last: SetUndo): Promise<string | undefined> {
  const { tenant, restore, unset, after } = last
  const revision = tenantsRevision(console)
  const now = await console.admin.call('tenants.show', { tenant })
  const fields = Object.keys(after) as (keyof typeof after)[]
  const moved = fields.filter(
    (field) => JSON.stringify(now[field]) !== JSON.stringify(after[field]),
  )
  if (moved.length > 0) {
    forget(console, last)
    const words = moved.join(', ')
    console.say('note', `not taken back: ${words} of ${tenant} was changed since. Enter shows it`)
    return undefined
  }
  await setTenant(
    console,
    { tenant, ...restore, ...(unset.length > 0 && { unset: [...unset] }) },
    revision,
  )
  forget(console, last)
  return `took back ${fields.join(', ')} of ${tenant}`
}

async function undoGrant(console: Console, last: GrantUndo): Promise<string> {
  await console.admin.call('credits.grant', {
    ...payerFields(last),
    tokens: last.tokens,
    take_back: true,
    if_revision: tenantsRevision(console),
  })
  forget(console, last)
  const twin = `credits grant ${quoted(last.tenant)} ${last.tokens}${actorFlag(last)} --take-back`
  return `took back ${tokens(last.tokens)} from ${inWords(last)} · $ ogw ${twin}`
}

function forget(console: Console, done: TenantUndo): void {
  console.updateTenants({ undo: console.ui.tenants.undo.filter((one) => one !== done) })
}
