// The policy of a tenant as a dialog: what is changed in it is sent as one change, on the revision
// that was looked at when it opened.

import { AdminError } from '../../gateway/contract/faults.ts'
import type { OutputOf } from '../../gateway/contract/schema.ts'
import type { TenantField } from '../../gateway/contract/tenant-fields.ts'
import type { Console } from '../console.ts'
import {
  type FormField,
  type FormOverlay,
  limitField,
  limitOf,
  textField,
  textOf,
} from '../form.ts'
import { sayFailure } from '../operate.ts'
import { presentTenant } from '../present/access.ts'
import { sanitise } from '../present/text.ts'
import { tenantUnderCursor } from '../screens/tenant-items.ts'
import type { TenantEdit } from '../state.ts'
import {
  closeForm,
  conflictInForm,
  markSent,
  openForm,
  openNow,
  sayFailureInForm,
  sayInForm,
} from './forms.ts'
import { quoted } from './placement.ts'
import { factLines } from './say.ts'

type Tenant = OutputOf<'tenants.show'>

/** What the dialog began with; a conflict moves it on. */
interface Draft {
  before: Tenant
  revision: number
}

export function openPolicy(console: Console): void {
  const view = console.fleet()
  const name = view === undefined ? undefined : tenantUnderCursor(view)?.name
  if (view === undefined || name === undefined) return
  // Before the question, so that a change in between is a conflict and not overwritten.
  const revision = tenantsRevision(console)
  console.admin.call('tenants.show', { tenant: name }).then(
    (before) => {
      if (!isStillAt(console, name)) return
      if (view.readOnly) showPolicy(console, before)
      else editPolicy(console, { before, revision })
    },
    (error: unknown) => sayFailure(console, error),
  )
}

/** A dialog that comes late would hear keys that were meant for something else. */
function isStillAt(console: Console, tenant: string): boolean {
  const view = console.fleet()
  if (view === undefined || view.ui.screen !== 'tenants' || view.ui.overlays.length > 0)
    return false
  return tenantUnderCursor(view)?.name === tenant
}

/** The newest revision that this console knows of: of the picture, or of its own last change. */
export function tenantsRevision({ store, acked }: Console): number {
  return Math.max(store.snapshot?.access?.tenants_revision ?? 0, acked.tenants)
}

function showPolicy(console: Console, tenant: Tenant): void {
  const facts = presentTenant(tenant)
  console.open({
    kind: 'text',
    title: sanitise(`policy of ${tenant.name}`),
    lines: factLines(facts),
    top: 0,
    hint: 'this console only reads (--read-only) · ',
  })
}

function editPolicy(console: Console, draft: Draft): void {
  const { name } = draft.before
  openForm(console, {
    title: `policy of ${name}`,
    fields: fieldsOf(draft.before),
    yes: 'Apply',
    onSubmit: (form) => {
      const read = editOf(form, draft.before)
      if ('problem' in read) sayInForm(console, form, read)
      else if (Object.keys(read.edit).length === 0) {
        closeForm(console, form)
        console.say('note', `${name} is as it was: nothing was changed`)
      } else {
        markSent(console, form)
        console.inOrder(() => apply(console, { form, draft, edit: read.edit }))
      }
    },
  })
}

interface Applying {
  form: FormOverlay
  draft: Draft
  edit: TenantEdit
}

async function apply(console: Console, { form, draft, edit }: Applying): Promise<void> {
  const { before } = draft
  try {
    const row = await setTenant(console, { tenant: before.name, ...edit }, draft.revision)
    closeForm(console, form)
    rememberSet(console, { before, edit, row })
    const what = Object.keys(edit).join(', ')
    const twin = twinOf(before.name, edit)
    const command = twin === undefined ? '' : ` · $ ogw ${twin}`
    console.say('done', `set ${what} of ${before.name} · u undo${command}`)
  } catch (error) {
    const isConflict = error instanceof AdminError && error.code === 'conflict'
    if (isConflict) await rebase(console, { form, draft }, error)
    else sayFailureInForm(console, form, error)
  }
}

/** One change; a newer revision is remembered, because the picture may be older than the answer. */
export async function setTenant(
  console: Console,
  input: TenantEdit & { tenant: string; unset?: TenantField[] },
  revision: number,
): Promise<Tenant> {
  const row = await console.admin.call('tenants.set', { ...input, if_revision: revision })
  console.acked.tenants = Math.max(console.acked.tenants, revision + 1)
  return row
}

function rememberSet(
  console: Console,
  { before, edit, row }: { before: Tenant; edit: TenantEdit; row: Tenant },
): void {
  const fields = Object.keys(edit) as TenantField[]
  const wasSet = (field: string): boolean => before.set_at_run_time.includes(field)
  console.updateTenants({
    undo: [
      ...console.ui.tenants.undo,
      {
        kind: 'set',
        tenant: before.name,
        restore: pick(before, fields.filter(wasSet)),
        unset: fields.filter((field) => !wasSet(field)),
        after: pick(row, fields),
      },
    ],
  })
}

function pick(of: Tenant, fields: readonly TenantField[]): TenantEdit {
  return Object.fromEntries(fields.map((field) => [field, of[field]]))
}

/**
 * Somebody changed a tenant since the dialog opened. What was typed stays, the other fields become
 * what they are now, and the operator decides again.
 */
async function rebase(
  console: Console,
  { form, draft }: Pick<Applying, 'form' | 'draft'>,
  conflict: AdminError,
): Promise<void> {
  const { revision } = conflict.details
  const known = typeof revision === 'number' ? revision : 0
  draft.revision = Math.max(known, tenantsRevision(console))
  console.acked.tenants = Math.max(console.acked.tenants, known)
  const old = fieldsOf(draft.before)
  draft.before = await console.admin
    .call('tenants.show', { tenant: draft.before.name })
    .catch(() => draft.before) // it is gone or unreachable: the next Ctrl-S says so
  const fresh = fieldsOf(draft.before)
  const open = openNow(console, form)
  if (open === undefined) {
    sayFailure(console, conflict)
    return
  }
  const fields = open.fields.map((field, index) =>
    sameValue(field, old[index]) ? (fresh[index] ?? field) : field,
  )
  sayInForm(console, form, { problem: conflictInForm(conflict), fields })
}

function sameValue(a: FormField, b: FormField | undefined): boolean {
  const valueOf = (field: FormField | undefined): string => {
    if (field === undefined) return ''
    if (field.kind === 'choice') return String(field.at)
    return field.kind === 'limit' && field.unlimited ? 'unlimited' : field.text
  }
  return valueOf(a) === valueOf(b)
}

const PRIORITIES = ['interactive', 'background'] as const

function fieldsOf(tenant: Tenant): FormField[] {
  const patterns = (list: readonly string[]): string => list.join(', ')
  const untick = 'Space ticks and unticks; a number as in 500000, 500k or 2M'
  return [
    textField(
      ['weight', 'weight'],
      String(tenant.weight),
      'share of the fleet while tenants compete',
    ),
    limitField(['max_in_flight', 'max in flight'], tenant.max_in_flight, {
      unit: 'requests at once',
      hint: 'Space ticks and unticks; more than that wait',
    }),
    {
      kind: 'choice',
      id: 'priority',
      label: 'priority',
      hint: 'Space changes it; background goes behind, but not for ever',
      options: PRIORITIES,
      at: PRIORITIES.indexOf(tenant.priority),
    },
    limitField(['credits', 'credits'], tenant.credits, { unit: 'tokens', hint: untick }),
    limitField(['actor_credits', 'of each actor'], tenant.actor_credits, {
      unit: 'tokens',
      hint: untick,
    }),
    textField(
      ['credit_window', 'window'],
      tenant.credit_window,
      'as in 24h or 7d, counted from 00:00 UTC',
    ),
    textField(
      ['allowed_models', 'models'],
      patterns(tenant.allowed_models),
      'names or prefixes such as qwen3:*, with a comma between; * is all',
    ),
    textField(
      ['denied_models', 'but not'],
      patterns(tenant.denied_models),
      'names or prefixes, with a comma between; empty is none',
    ),
  ]
}

type Read = { edit: TenantEdit } | { problem: string }

const LIMITS = ['max_in_flight', 'credits', 'actor_credits'] as const

/** What differs from before, or what is wrong with it. What may stand there is for the gateway. */
function editOf(form: FormOverlay, before: Tenant): Read {
  const edit: TenantEdit = {}
  const weight = Number(textOf(form, 'weight'))
  if (!(weight > 0)) return { problem: 'weight: write a number above 0' }
  if (weight !== before.weight) edit.weight = weight
  for (const field of LIMITS) {
    const limit = limitOf(form, field)
    if (limit === undefined) return { problem: limitProblem(field) }
    if (limit !== before[field]) edit[field] = limit
  }
  const priority = PRIORITIES.find((one) => one === textOf(form, 'priority'))
  if (priority !== undefined && priority !== before.priority) edit.priority = priority
  const window = textOf(form, 'credit_window')
  if (window !== before.credit_window) edit.credit_window = window
  const allowed = patternsIn(textOf(form, 'allowed_models'))
  if (allowed.length === 0) return { problem: 'models: write * for all of them' }
  if (!sameList(allowed, before.allowed_models)) edit.allowed_models = allowed
  const denied = patternsIn(textOf(form, 'denied_models'))
  if (!sameList(denied, before.denied_models)) edit.denied_models = denied
  return { edit }
}

function limitProblem(field: (typeof LIMITS)[number]): string {
  const what = {
    max_in_flight: 'max in flight',
    credits: 'credits',
    actor_credits: 'of each actor',
  }
  return `${what[field]}: write a number above 0, or tick unlimited with Space`
}

/** A comma or a blank is in no pattern. */
export function patternsIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((one) => one !== '')
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one, index) => one === b[index])

const FLAGS: Readonly<Record<TenantField, string>> = {
  weight: '--weight',
  max_in_flight: '--max-in-flight',
  priority: '--priority',
  credits: '--credits',
  actor_credits: '--actor-credits',
  credit_window: '--credit-window',
  allowed_models: '--models',
  denied_models: '--deny-models',
}

/** Undefined where no command says it: an empty list is not written on a command line. */
function twinOf(tenant: string, edit: TenantEdit): string | undefined {
  const fields = Object.entries(edit) as [TenantField, string | number | string[]][]
  const words = fields.map(([field, value]) => {
    const values = Array.isArray(value) ? value : [String(value)]
    return values.map((one) => `${FLAGS[field]} ${quoted(one)}`).join(' ')
  })
  if (words.includes('')) return undefined
  return `tenants set ${quoted(tenant)} ${words.join(' ')}`
}
