// What operators set for tenants at run time: field by field over the config, and kept over
// restarts. A tenant may exist here alone.

import { z } from 'zod'
import { Config } from '../config/schema.ts'
import { Document } from './document.ts'
import type { DocumentOptions } from './document.ts'
import type { DocumentForm } from './document-form.ts'
import { Turns } from './turns.ts'

export type TenantSettings = Config['tenants'][number]

/** Fields that are set; durations in milliseconds, as they are in a parsed config. */
export type TenantEdit = Partial<Omit<TenantSettings, 'name'>>
export type TenantField = keyof TenantEdit

const Stored = z.strictObject({
  name: z.string().min(1),
  weight: z.number().gt(0).optional(),
  max_in_flight: z.int().min(0).optional(),
  credits: z.int().min(0).optional(),
  actor_credits: z.int().min(0).optional(),
  credit_window: z.number().min(60_000).optional(),
  allowed_models: z.array(z.string()).optional(),
  denied_models: z.array(z.string()).optional(),
  priority: z.enum(['interactive', 'background']).optional(),
})
type Stored = z.infer<typeof Stored>

const TenantsDocument = z.strictObject({
  version: z.literal(1),
  revision: z.int().min(0),
  tenants: z.array(Stored),
})
type TenantsDocument = z.infer<typeof TenantsDocument>

export const tenantsForm: DocumentForm<TenantsDocument> = {
  schema: TenantsDocument,
  empty: { version: 1, revision: 0, tenants: [] },
  remedy: 'move it away to start with the tenants of the config',
}

export const DEFAULT_TENANT = 'default'

export class TenantsState {
  readonly #document: Document<TenantsDocument>
  readonly #changes = new Turns()
  #lastActor = ''
  #merged:
    | { config: Config['tenants']; stored: TenantsDocument; all: Config['tenants'] }
    | undefined

  /** Asked for each tenant, several times a second, while a console looks. */
  #edits: { stored: TenantsDocument; byName: ReadonlyMap<string, TenantEdit> } | undefined

  readonly #onChange: () => void

  /** Throws StartError where the file is broken. `onChange` is called once a change is in force. */
  constructor(
    file: string,
    {
      onChange = () => {},
      ...options
    }: Pick<DocumentOptions<TenantsDocument>, 'disk'> & { onChange?(): void } = {},
  ) {
    this.#onChange = onChange
    this.#document = new Document({
      file,
      ...tenantsForm,
      ...options,
    })
  }

  get revision(): number {
    return this.#document.value.revision
  }

  get error(): string | undefined {
    return this.#document.error
  }

  /** Who changed the document last in this run; empty before anybody did. */
  get lastActor(): string {
    return this.#lastActor
  }

  /** Fields that were set at run time, undefined where there are none. */
  overridden(name: string): TenantEdit | undefined {
    const stored = this.#document.value
    if (this.#edits?.stored !== stored) {
      const byName = stored.tenants.map(
        ({ name: own, ...edit }) => [folded(own), defined(edit)] as const,
      )
      this.#edits = { stored, byName: new Map(byName) }
    }
    return this.#edits.byName.get(folded(name))
  }

  /** The config's tenants, `default` among them, with what was set over them. The same array while
   * nothing changes. */
  effective(config: Config['tenants']): Config['tenants'] {
    const stored = this.#document.value
    if (this.#merged?.config !== config || this.#merged.stored !== stored) {
      this.#merged = { config, stored, all: merge(config, stored.tenants) }
    }
    return this.#merged.all
  }

  /** Sets fields, as one change; `check` sees the newest state and may throw. `unset` fields are as
   * in the config again. */
  set(
    name: string,
    edit: TenantEdit,
    { actor, check, unset = [] }: { actor: string; check(): void; unset?: readonly TenantField[] },
  ): Promise<void> {
    return this.#changes.take(async () => {
      check()
      const before = this.#document.value
      const known = before.tenants.find((tenant) => sameName(tenant.name, name))
      const kept = Object.entries(known ?? { name }).filter(([field]) => !isOneOf(unset, field))
      const next: Stored = { name: known?.name ?? name, ...Object.fromEntries(kept), ...edit }
      const others = before.tenants.filter((tenant) => tenant !== known)
      await this.#document.save({
        version: 1,
        revision: before.revision + 1,
        tenants: [...others, next],
      })
      this.#lastActor = actor
      this.#onChange()
    })
  }
}

const isOneOf = (list: readonly string[], one: string): boolean => list.includes(one)

export function sameName(a: string, b: string): boolean {
  return a === b || folded(a) === folded(b)
}

function folded(name: string): string {
  return name.normalize('NFC').toLowerCase()
}

function merge(config: Config['tenants'], stored: readonly Stored[]): Config['tenants'] {
  const written = firstByName(config)
  const over = firstByName(stored)
  const plain = plainTenant(DEFAULT_TENANT)
  const keys = new Set([...written.keys(), DEFAULT_TENANT, ...over.keys()])
  return [...keys].map((key) => {
    const base = written.get(key) ?? { ...plain, name: over.get(key)?.name ?? DEFAULT_TENANT }
    // Requests without a key are those of `default`, however an operator spells it.
    const name = key === DEFAULT_TENANT ? DEFAULT_TENANT : base.name
    return { ...base, ...defined(over.get(key) ?? {}), name }
  })
}

/** By folded name, each of them folded once: there may be thousands. */
function firstByName<T extends { name: string }>(list: readonly T[]): Map<string, T> {
  const byName = new Map<string, T>()
  for (const one of list) {
    const key = folded(one.name)
    if (!byName.has(key)) byName.set(key, one)
  }
  return byName
}

/** A tenant of which nothing is written. */
export function plainTenant(name: string): TenantSettings {
  const [tenant] = Config.shape.tenants.parse([{ name }])
  if (tenant === undefined) throw new TypeError('a list of one tenant has one')
  return tenant
}

/** Checks settings as the config would: limits and patterns in one place. Undefined = they are good. */
export function tenantProblem(tenant: TenantSettings): string | undefined {
  const written = { ...tenant, credit_window: `${tenant.credit_window}ms` }
  const parsed = Config.shape.tenants.safeParse([written])
  if (parsed.success) return undefined
  return parsed.error.issues
    .map(({ path, message }) => `${path.slice(1).join('.')}: ${message}`)
    .join('; ')
}

/** Without the fields that are undefined: spread over others they would erase them. */
function defined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- filtered in the same line
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
