// Reads the bodies of /api/tags, /api/ps and /api/show. Lenient on purpose: the answers of ten
// years of Ollama are to be understood, and one odd row must not hide the others.

import { hash } from 'node:crypto'
import { z } from 'zod'
import { parseInventoryName } from '../policy/model-name.ts'
import { jsonOf } from './addresses.ts'
import type { Installed, InstalledModel, LoadedModel, ModelInfo } from './worker.ts'

const Details = z.record(z.string(), z.unknown()).catch({})
const Text = z.string().catch('')
const Count = z.number().nonnegative().catch(0)
/** Null, zero and nonsense mean that the worker does not know. */
const Tokens = z.number().int().positive().optional().catch(undefined)
const Words = z.array(z.string()).optional().catch(undefined)

const List = z.object({ models: z.array(z.unknown()).nullish() })

const TagsRow = z.object({
  name: z.string().min(1),
  modified_at: Text,
  size: Count,
  digest: Text,
  details: Details,
  capabilities: Words,
  remote_host: z.string().min(1).optional().catch(undefined),
  remote_model: z.string().min(1).optional().catch(undefined),
})

const LoadedRow = z.object({
  name: z.string().min(1),
  digest: Text,
  size: Count,
  size_vram: Count,
  context_length: Tokens,
  expires_at: Text,
  details: Details,
})

/** Keeps one object for equal values of many workers: a fleet has few models and many copies. */
export class Interned<T extends object> {
  readonly #values = new Map<string, WeakRef<T>>()
  #sweepAt = 1024

  /** The known value under the key while anybody holds it, else what `make` returns. */
  get(key: string, make: () => T): T {
    const known = this.#values.get(key)?.deref()
    if (known !== undefined) return known
    if (this.#values.size >= this.#sweepAt) this.#sweep()
    const value = make()
    this.#values.set(key, new WeakRef(value))
    return value
  }

  get size(): number {
    return this.#values.size
  }

  #sweep(): void {
    for (const [key, value] of this.#values) {
      if (value.deref() === undefined) this.#values.delete(key)
    }
    this.#sweepAt = Math.max(1024, this.#values.size * 2)
  }
}

/** Models and whole lists that several workers have alike. */
export interface InternedTags {
  models: Interned<InstalledModel>
  lists: Interned<ReadonlyMap<string, Installed>>
}

export function newInternedTags(): InternedTags {
  return { models: new Interned(), lists: new Interned() }
}

/** The models of a tags body by key, in the worker's order; undefined where it is no tags answer. */
export function readTags(
  body: Buffer,
  interned: InternedTags,
): ReadonlyMap<string, Installed> | undefined {
  const list = List.safeParse(jsonOf(body))
  if (!list.success) return undefined
  return interned.lists.get(fingerprint(body), () => {
    const rows = (list.data.models ?? []).flatMap((row) => readTagsRow(row, interned.models))
    return new Map(rows.map((row) => [row.model.key, row]))
  })
}

/** Tells bodies apart without keeping them. */
export function fingerprint(body: Buffer): string {
  return hash('sha256', body, 'base64')
}

function readTagsRow(value: unknown, models: Interned<InstalledModel>): Installed[] {
  const row = TagsRow.safeParse(value)
  if (!row.success) return []
  const { modified_at: modifiedAt, ...rest } = row.data
  const parsed = parseInventoryName(rest.name)
  // A name that Ollama's own rules refuse cannot be asked for.
  if (!parsed.ok) return []
  const { key } = parsed.name
  const model = models.get(JSON.stringify(rest), () => ({
    name: rest.name,
    key,
    digest: rest.digest,
    size: rest.size,
    details: rest.details,
    capabilities: rest.capabilities,
    contextLength: Tokens.parse(rest.details['context_length']),
    remoteHost: rest.remote_host,
    remoteModel: rest.remote_model,
  }))
  return [{ model, modifiedAt }]
}

/** The models of a ps body by key; undefined where it is no ps answer. */
export function readLoaded(body: Buffer): ReadonlyMap<string, LoadedModel> | undefined {
  const list = List.safeParse(jsonOf(body))
  if (!list.success) return undefined
  const rows = (list.data.models ?? []).flatMap(readLoadedRow)
  return new Map(rows.map((row) => [row.key, row]))
}

function readLoadedRow(value: unknown): LoadedModel[] {
  const row = LoadedRow.safeParse(value)
  if (!row.success) return []
  const parsed = parseInventoryName(row.data.name)
  if (!parsed.ok) return []
  const { name, digest, size, details } = row.data
  const { size_vram: sizeVram, context_length: contextLength, expires_at: expiresAt } = row.data
  return [{ name, key: parsed.name.key, digest, size, sizeVram, contextLength, expiresAt, details }]
}

const ShowAnswer = z.object({
  capabilities: Words,
  parameters: z.string().optional().catch(undefined),
  model_info: z.record(z.string(), z.unknown()).optional().catch(undefined),
})

/** What a show body says of a model; undefined where it is no show answer. */
export function readShow(body: Buffer, digest: string): ModelInfo | undefined {
  const answer = ShowAnswer.safeParse(jsonOf(body))
  if (!answer.success) return undefined
  const { capabilities, parameters, model_info: facts = {} } = answer.data
  const architecture = facts['general.architecture']
  return {
    digest,
    capabilities,
    contextMax:
      typeof architecture === 'string'
        ? Tokens.parse(facts[`${architecture}.context_length`])
        : undefined,
    modelfileNumCtx: modelfileNumCtx(parameters ?? ''),
  }
}

/** Ollama prints parameters as Go does: 1048576 is `1.048576e+06`. */
function modelfileNumCtx(parameters: string): number | undefined {
  const written = /^num_ctx\s+(\S+)$/m.exec(parameters)?.[1]
  return written === undefined ? undefined : Tokens.parse(Number(written))
}
