// One list of models out of many workers, as clients see it. Pure: workers in, rows out.
//
// A model has one row, taken from the first worker in config order that has it and where
// placement lets it run. Rows have the shape of a real Ollama's, because clients slice digests,
// parse times and index details without looking.

import { compareVersions, versionNumbers } from '../policy/version.ts'
import type { LoadedModel, Installed, InstalledModel, Worker } from '../fleet/worker.ts'
import { parseInventoryName } from '../policy/model-name.ts'
import { decidePlacement } from '../policy/placement.ts'

/** A worker that has been down for this long leaves the clients' lists, not the operators'. */
export const HIDDEN_AFTER_MS = 10 * 60_000

/** What is said until a worker has told its version: the one this gateway is tested against. */
const TESTED_VERSION = '0.33.0'

/** Go's zero time, for a worker that told none. */
const NO_TIME = '0001-01-01T00:00:00Z'

/** A SHA-256 in hex, as every real one is. */
const DIGEST_LENGTH = 64

/** The workers whose models clients see at the monotonic time `now`. */
export function shownWorkers(workers: readonly Worker[], now: number): readonly Worker[] {
  return workers.filter(({ health }) => {
    return health.state !== 'down' || now - health.sinceMono < HIDDEN_AFTER_MS
  })
}

/** By model key, the newest first as a real one lists them. */
export function mergedInstalled(workers: readonly Worker[]): ReadonlyMap<string, Installed> {
  const merged = new Map<string, Installed>()
  for (const worker of workers) {
    if (worker.inventory.state !== 'known') continue
    for (const [key, installed] of worker.inventory.models) {
      if (!merged.has(key) && mayRunInstalled(worker, installed.model)) merged.set(key, installed)
    }
  }
  return newestFirst(merged, ({ modifiedAt }) => modifiedAt)
}

/** By model key, the one that stays longest first. */
export function mergedLoaded(workers: readonly Worker[]): ReadonlyMap<string, LoadedModel> {
  const merged = new Map<string, LoadedModel>()
  for (const worker of workers) {
    if (worker.loaded.state !== 'known') continue
    for (const [key, model] of worker.loaded.models) {
      const cloud = isCloud(model.name, undefined)
      const allowed = decidePlacement(worker.placement, key, { cloud }).allowed
      if (!merged.has(key) && allowed) merged.set(key, model)
    }
  }
  return newestFirst(merged, ({ expiresAt }) => expiresAt)
}

/** Placement's word on a copy that a worker has. A stub runs elsewhere, whatever its name. */
function mayRunInstalled({ placement }: Worker, model: InstalledModel): boolean {
  const cloud = isCloud(model.name, model.remoteHost)
  return decidePlacement(placement, model.key, { cloud }).allowed
}

function isCloud(name: string, remoteHost: string | undefined): boolean {
  // Reading a name is dear for a whole fleet's lists; every cloud name ends so.
  if (remoteHost === undefined && !name.toLowerCase().endsWith('cloud')) return false
  const parsed = parseInventoryName(name, { remoteHost })
  return parsed.ok && parsed.name.cloud
}

/** Equal times are ordered by key, so that two lists of the same models are byte for byte equal. */
function newestFirst<T>(rows: ReadonlyMap<string, T>, timeOf: (row: T) => string): Map<string, T> {
  const dated = [...rows].map(([key, row]) => ({ key, row, at: Date.parse(timeOf(row)) || 0 }))
  dated.sort((a, b) => b.at - a.at || (a.key < b.key ? -1 : 1))
  return new Map(dated.map(({ key, row }) => [key, row]))
}

/** One row of /api/tags. */
export function tagsRow({ model, modifiedAt }: Installed): object {
  const { name, digest, size, remoteModel, remoteHost, capabilities } = model
  return {
    name,
    model: name,
    ...(remoteModel === undefined ? {} : { remote_model: remoteModel }),
    ...(remoteHost === undefined ? {} : { remote_host: remoteHost }),
    modified_at: validTime(modifiedAt),
    size,
    digest: slicedDigest(digest),
    details: detailsOf(model),
    ...(capabilities === undefined ? {} : { capabilities }),
  }
}

/** One row of /api/ps. */
export function psRow(model: LoadedModel): object {
  const { name, size, digest, sizeVram, contextLength } = model
  return {
    name,
    model: name,
    size,
    digest: slicedDigest(digest),
    details: detailsOf(model),
    expires_at: validTime(model.expiresAt),
    size_vram: sizeVram,
    ...(contextLength === undefined ? {} : { context_length: contextLength }),
  }
}

/** Long enough for those who cut it: `ollama ls` and `ollama ps` crash at fewer than 12 characters. */
const slicedDigest = (digest: string): string => digest.padEnd(DIGEST_LENGTH, '0')

/** An entry of /v1/models under the given id: good for OpenAI's and Anthropic's clients at once. */
export function modelObject(id: string, { model, modifiedAt }: Installed): object {
  const at = Date.parse(modifiedAt) || 0
  return {
    id,
    object: 'model',
    created: Math.floor(at / 1000),
    owned_by: model.name.split('/').at(-2) ?? 'library',
    type: 'model',
    display_name: model.name,
    created_at: new Date(at).toISOString(),
  }
}

/** The list of /v1/models, the fields of OpenAI's first. */
export function modelList(installed: readonly (readonly [id: string, Installed])[]): object {
  const ids = installed.map(([id]) => id)
  return {
    object: 'list',
    data: installed.map(([id, row]) => modelObject(id, row)),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  }
}

/** `families: null` breaks clients that iterate over it. */
function detailsOf({ details }: { details: Readonly<Record<string, unknown>> }): object {
  return details['families'] === null ? { ...details, families: [] } : details
}

function validTime(time: string): string {
  return Number.isNaN(Date.parse(time)) ? NO_TIME : time
}

/**
 * The lowest version of the fleet as plain `x.y.z`: clients switch features on by it, and any
 * request may land on the oldest worker. Development builds (0.0.0) say nothing.
 */
export function lowestVersion(versions: readonly (string | undefined)[]): string {
  const read = versions.map(versionNumbers).filter((parts) => parts !== undefined)
  const lowest = read.toSorted(compareVersions)[0]
  return lowest?.join('.') ?? TESTED_VERSION
}

/** A header has room for this many workers. */
const MAX_NAMED = 10

/** Why a list may lack models; undefined when every worker is up and read. */
export function listWarning(workers: readonly Worker[]): string | undefined {
  const gaps = workers.flatMap(({ name, health, inventory }) => {
    if (health.state === 'down') return [`worker ${headerSafe(name)} is down`]
    return inventory.state === 'unknown' ? [`worker ${headerSafe(name)} has not been read yet`] : []
  })
  if (gaps.length === 0) return undefined
  const more = gaps.length > MAX_NAMED ? [`and ${gaps.length - MAX_NAMED} more`] : []
  return `the list may be incomplete: ${[...gaps.slice(0, MAX_NAMED), ...more].join('; ')}`
}

/** Header values are ASCII; a worker may be named in any script. */
function headerSafe(name: string): string {
  return /^[\x21-\x7e]+$/.test(name) ? name : encodeURIComponent(name)
}
