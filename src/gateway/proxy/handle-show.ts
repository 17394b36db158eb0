// POST /api/show: one model's card, from the first worker in config order that has it and may run
// it. Clients ask it once per model and many times, so the answer comes from a cache.

import { field } from '../dialects/json-fields.ts'
import type { JsonRecord } from '../dialects/json-fields.ts'
import { GatewayError } from '../errors.ts'
import type { WorkerReason } from '../errors.ts'
import type { Worker } from '../fleet/worker.ts'
import type { ModelName, ParsedName } from '../policy/model-name.ts'
import { decidePlacement, describeVerdict } from '../policy/placement.ts'
import { sendAnswer } from './answer.ts'
import { mayRunInstalled } from './merged-models.ts'
import type { RequestContext } from './request-context.ts'

export interface ShowAsk {
  worker: string
  /** In the worker's own spelling where that is known. */
  model: string
  verbose: boolean
}

export interface ShownModel {
  status: number
  body: Buffer
}

export interface ShowDeps {
  workers(): readonly Worker[]
  /** A model as a client spells it, aliases resolved. */
  readName(raw: string): ParsedName
  /** The body as an object; throws GatewayError where there is none or it is no JSON object. */
  readJson(ctx: RequestContext): Promise<JsonRecord>
  /** From the cache, else from the worker; undefined where neither answers. */
  show(ask: ShowAsk): Promise<ShownModel | undefined>
}

/** So many workers are asked before a client is told that none answers. */
const MAX_ASKED = 3
/** A client need not wait for the next probe of a worker that is down. */
const RETRY_AFTER_S = 5

export async function handleShow(deps: ShowDeps, ctx: RequestContext): Promise<void> {
  const body = await deps.readJson(ctx)
  const name = modelOf(body, deps)
  const verbose = field(body, 'verbose') === true
  const owners = ownersOf(deps.workers(), name)
  let shown: ShownModel | undefined
  for (const { worker, model } of owners.slice(0, MAX_ASKED)) {
    shown = await deps.show({ worker, model, verbose })
    if (shown !== undefined && shown.status !== 404) break
  }
  if (shown === undefined) throw noAnswer(name, owners)
  if (shown.status === 404) throw notFound(name)
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  sendAnswer(ctx, { status: shown.status, headers, body: shown.body })
}

/** `name` is what older clients say, beside an empty `model` or instead of it. */
function modelOf(body: JsonRecord, deps: ShowDeps): ModelName {
  const given = [field(body, 'model'), field(body, 'name')]
  const raw = given.find((value) => typeof value === 'string' && value !== '')
  const parsed = deps.readName(typeof raw === 'string' ? raw : '')
  if (parsed.ok) return parsed.name
  throw new GatewayError({ code: 'invalid_request', detail: parsed.reason })
}

interface Owner {
  worker: string
  model: string
}

/**
 * Known copies first, and those on workers that are up; then workers whose inventory was never
 * read, which may have it. Throws where placement, or the lack of any copy, leaves nobody to ask.
 */
function ownersOf(workers: readonly Worker[], name: ModelName): readonly Owner[] {
  const ranked: { rank: number; owner: Owner }[] = []
  const blocked: WorkerReason[] = []
  for (const worker of workers) {
    const rank = rankOf(worker, name)
    if (rank === undefined) continue
    const verdict = verdictOf(worker, name)
    if (!verdict.allowed) {
      blocked.push({ worker: worker.name, reason: describeVerdict(verdict) })
      continue
    }
    ranked.push({ rank, owner: { worker: worker.name, model: spellingOf(worker, name) } })
  }
  if (ranked.length > 0) return ranked.toSorted((a, b) => a.rank - b.rank).map(({ owner }) => owner)
  if (blocked.length === 0) throw notFound(name)
  const code = name.cloud ? 'model_is_cloud' : 'model_blocked'
  throw new GatewayError({ code, model: name.display, workers: blocked })
}

/** Lower is asked first; undefined where the worker is known not to have the model. */
function rankOf({ inventory, health }: Worker, { key, cloud }: ModelName): number | undefined {
  const penalty = health.state === 'down' ? 1 : 0
  if (inventory.state === 'known' && inventory.models.has(key)) return penalty
  // A cloud model runs without being installed; placement alone decides about it.
  if (cloud || inventory.state === 'unknown') return 2 + penalty
  return undefined
}

function verdictOf(worker: Worker, { key, cloud }: ModelName) {
  const installed = copyOn(worker, key)
  if (installed !== undefined && !mayRunInstalled(worker, installed)) {
    // The stub of a cloud model is refused like one, however plain its name.
    return decidePlacement(worker.placement, key, { cloud: cloud || isStub(installed) })
  }
  return decidePlacement(worker.placement, key, { cloud })
}

function isStub({ remoteHost }: { remoteHost: string | undefined }): boolean {
  return remoteHost !== undefined
}

function copyOn({ inventory }: Worker, key: string) {
  return inventory.state === 'known' ? inventory.models.get(key)?.model : undefined
}

function spellingOf(worker: Worker, name: ModelName): string {
  return copyOn(worker, name.key)?.name ?? name.display
}

function notFound({ display }: ModelName): GatewayError {
  return new GatewayError({ code: 'not_found', detail: `model '${display}' not found` })
}

function noAnswer({ display }: ModelName, owners: readonly Owner[]): GatewayError {
  const workers = owners.map(({ worker }) => ({ worker, reason: 'does not answer /api/show' }))
  const retryAfterS = RETRY_AFTER_S
  return new GatewayError({ code: 'no_worker_up', model: display, workers, retryAfterS })
}
