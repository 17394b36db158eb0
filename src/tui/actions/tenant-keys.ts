// The keys of a tenant: a new one is shown once and kept nowhere; one that is revoked is gone for
// good, so that its name is typed first.

import type { KeyUse } from '../../gateway/contract/schema/tenants.ts'
import { AdminError } from '../../gateway/contract/faults.ts'
import type { Console } from '../console.ts'
import { type FormOverlay, textField, textOf } from '../form.ts'
import { presentKeys } from '../present/access.ts'
import { cell } from '../present/cell.ts'
import { sanitise } from '../present/text.ts'
import { age } from '../present/units.ts'
import { keyUnderCursor, tenantUnderCursor, useOf } from '../screens/tenant-items.ts'
import { lineOf } from '../theme.ts'
import { closeForm, markSent, openForm, openNow, sayFailureInForm, sayInForm } from './forms.ts'
import { openMenu } from './models.ts'
import { quoted } from './placement.ts'
import { factLines } from './say.ts'
import { patternsIn } from './tenant-policy.ts'

/** As many as there are letters and digits to choose one by. */
const KEYS_OFFERED = 34
const SCOPES = ['read', 'infer', 'manage'] as const

/** What the pane shows: a menu that opened later would meet keys that were meant for it. */
export function openKeys(console: Console): void {
  const view = console.fleet()
  const tenant = view === undefined ? undefined : tenantUnderCursor(view)?.name
  if (view === undefined || tenant === undefined) return
  const active = useOf(view)?.keys.filter(({ state }) => state === 'active') ?? []
  openMenu(console, sanitise(`keys of ${tenant}`), [
    { label: 'make a key, which is shown once…', run: () => askNewKey(console, tenant) },
    ...active.slice(0, KEYS_OFFERED).map((key) => ({
      label: sanitise(`revoke ${key.id} (${key.scope}, ${lastUsed(key, view.wall)})…`),
      run: () => askRevoke(console, key),
    })),
  ])
}

function lastUsed({ last_used_at: at }: KeyUse, wall: number): string {
  return at === null ? 'not used since the start' : `used ${age(at, wall)} ago`
}

function keysRevision({ store, acked }: Console): number {
  return Math.max(store.snapshot?.access?.keys_revision ?? 0, acked.keys)
}

function askNewKey(console: Console, tenant: string): void {
  openForm(console, {
    title: `new key of ${tenant}`,
    lines: ['It is shown once, and stored as a hash alone.'],
    fields: [
      {
        kind: 'choice',
        id: 'scope',
        label: 'scope',
        hint: 'Space changes it; each holds those before it, and manage pulls and deletes models',
        options: SCOPES,
        at: SCOPES.indexOf('infer'),
      },
      textField(['expires', 'expires in'], '', 'as in 12h or 30d; empty: never'),
      textField(
        ['models', 'models'],
        '',
        'names or prefixes, with a comma between; empty: all that the tenant may use',
      ),
      textField(
        ['denied', 'but not'],
        '',
        'names or prefixes, with a comma between; empty is none',
      ),
    ],
    yes: 'Make it',
    onSubmit: (form) => {
      markSent(console, form)
      console.inOrder(() => create(console, form, tenant))
    },
  })
}

async function create(console: Console, form: FormOverlay, tenant: string): Promise<void> {
  const scope = SCOPES.find((one) => one === textOf(form, 'scope')) ?? 'infer'
  const expires = textOf(form, 'expires')
  const allowed = patternsIn(textOf(form, 'models'))
  const denied = patternsIn(textOf(form, 'denied'))
  const revision = keysRevision(console)
  try {
    const made = await console.admin.call('keys.create', {
      tenant,
      scope,
      ...(expires !== '' && { expires }),
      ...(allowed.length > 0 && { allowed_models: allowed }),
      ...(denied.length > 0 && { denied_models: denied }),
      if_revision: revision,
    })
    console.acked.keys = Math.max(console.acked.keys, revision + 1)
    closeForm(console, form)
    showSecret(console, `key ${made.id} of ${made.tenant}`, made.key)
    const flags = [
      `--scope ${scope}`,
      ...(expires === '' ? [] : [`--expires ${quoted(expires)}`]),
      ...allowed.map((one) => `--models ${quoted(one)}`),
      ...denied.map((one) => `--deny-models ${quoted(one)}`),
    ]
    const twin = `keys create --tenant ${quoted(tenant)} ${flags.join(' ')}`
    console.say('done', `made ${made.id} of ${tenant} · $ ogw ${twin}`)
  } catch (error) {
    tell(console, form, error)
  }
}

/** A key stands in this box and nowhere else: no message, no log, no history has it. */
export function showSecret(console: Console, title: string, secret: string): void {
  console.open({
    kind: 'secret',
    title: sanitise(title),
    secret: sanitise(secret),
    lines: [
      lineOf('Shown once: give it to its owner now.'),
      lineOf('It is not stored and cannot be read again.'),
    ],
    openedMono: console.store.clock.mono(),
  })
}

export function revokeKey(console: Console): void {
  const view = console.fleet()
  const key = view === undefined ? undefined : keyUnderCursor(view)
  if (key !== undefined) askRevoke(console, key)
}

function askRevoke(console: Console, { id, tenant }: KeyUse): void {
  openForm(console, {
    title: `revoke key ${id} of ${tenant}?`,
    lines: [
      'It lets nobody in any more, from now on; running requests finish.',
      'This cannot be undone.',
    ],
    fields: [textField(['id', 'type its id'], '', `${sanitise(id)}, then Ctrl-S`)],
    yes: 'Revoke',
    onSubmit: (form) => {
      if (textOf(form, 'id') !== id) {
        sayInForm(console, form, { problem: `type ${id} to revoke it` })
        return
      }
      markSent(console, form)
      console.inOrder(() => revoke(console, form, id))
    },
  })
}

async function revoke(console: Console, form: FormOverlay, id: string): Promise<void> {
  const revision = keysRevision(console)
  try {
    await console.admin.call('keys.revoke', { id, if_revision: revision })
    console.acked.keys = Math.max(console.acked.keys, revision + 1)
    closeForm(console, form)
    console.say('done', `revoked ${id}: it lets nobody in · $ ogw keys revoke ${quoted(id)}`)
  } catch (error) {
    tell(console, form, error)
  }
}

/** A conflict tells the newest revision, on which Ctrl-S sends it again. */
function tell(console: Console, form: FormOverlay, error: unknown): void {
  const isConflict = error instanceof AdminError && error.code === 'conflict'
  if (isConflict && openNow(console, form) !== undefined) {
    const { revision } = error.details
    if (typeof revision === 'number') console.acked.keys = Math.max(console.acked.keys, revision)
  }
  sayFailureInForm(console, form, error)
}

export function showKey(console: Console, key: KeyUse): void {
  const { wall } = console.view()
  const { columns, rows } = presentKeys([key], wall)
  const facts = columns.map(
    ({ header }, index) => [header.toLowerCase(), rows[0]?.[index] ?? cell('')] as const,
  )
  console.open({
    kind: 'text',
    title: sanitise(`key ${key.id}`),
    lines: [
      ...factLines([...facts, ['made by', cell(sanitise(key.created_by))]]),
      ...factLines([['last used', cell(lastUsed(key, wall))]]),
    ],
    top: 0,
    hint: key.state === 'active' ? 'x in the list revokes it · ' : '',
  })
}
