// POST /api/show: one model's card, from the first worker in config order that has it and may run
// it. Clients ask it once per model and many times, so the answer comes from a cache.

import { permitModel } from '../access/visitor.ts'
import { field } from '../dialects/json-fields.ts'
import type { JsonRecord } from '../dialects/json-fields.ts'
import { GatewayError } from '../errors.ts'
import type { WorkerReason } from '../errors.ts'
import { installedOn } from '../fleet/worker.ts'
import type { Worker } from '../fleet/worker.ts'
import type { ModelName, ParsedName } from '../policy/model-name.ts'
import { decidePlacement, describeVerdict } from '../policy/placement.ts'
import type { Verdict } from '../policy/placement.ts'
import { sendAnswer } from './answer.ts'
import type { RequestContext } from './request-context.ts'

/** The worker's own answer, whatever its status, or why there is none. */
export type ShowAnswer = { ok: true; status: number; body: Buffer } | { ok: false; error: string }

export interface ShowDeps {
  workers(): readonly Worker[]
  /** A model as a client spells it, aliases resolved. */
  readName(raw: string): ParsedName
  /** The body as an object; throws GatewayError where there is none or it is no JSON object. */
  readJson(ctx: RequestContext): Promise<JsonRecord>
  /** From the cache, else from the worker. */
  show(worker: Worker, modelKey: string, verbose: boolean): Promise<ShowAnswer>
}

/** So many workers are asked before a client is told that none answers. */
const MAX_ASKED = 3
/** A client need not wait for the next probe of a worker that is down. */
const RETRY_AFTER_S = 5

export async function handleShow(deps: ShowDeps, ctx: RequestContext): Promise<void> {
  const body = await deps.readJson(ctx)
  const name = modelOf(body, deps)
  permitModel(ctx.visitor, name)
  const verbose = field(body, 'verbose') === true
  const silent: WorkerReason[] = []
  let missing = false
  for (const worker of ownersOf(deps.workers(), name).slice(0, MAX_ASKED)) {
    const answer = await deps.show(worker, name.key, verbose)
    if (answer.ok && answer.status !== 404) {
      sendShown(ctx, answer)
      return
    }
    // The model was deleted since, or the inventory was never read: another one may have it.
    if (answer.ok) missing = true
    else silent.push({ worker: worker.name, reason: answer.error })
  }
  if (missing) throw notFound(name)
  const retryAfterS = RETRY_AFTER_S
  throw new GatewayError({
    code: 'no_worker_up',
    model: name.display,
    workers: silent,
    retryAfterS,
  })
}

function sendShown(ctx: RequestContext, { status, body }: { status: number; body: Buffer }): void {
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  sendAnswer(ctx, { status, headers, body })
}

/** `name` is what older clients say, beside an empty `model` or instead of it. */
function modelOf(body: JsonRecord, deps: ShowDeps): ModelName {
  const given = [field(body, 'model'), field(body, 'name')]
  const raw = given.find((value) => typeof value === 'string' && value !== '')
  const parsed = deps.readName(typeof raw === 'string' ? raw : '')
  if (parsed.ok) return parsed.name
  throw new GatewayError({ code: 'invalid_request', detail: parsed.reason })
}

/**
 * Known copies first, and those on workers that are up; then workers whose inventory was never
 * read, which may have it. Throws where placement, or the lack of any copy, leaves nobody to ask.
 */
function ownersOf(workers: readonly Worker[], name: ModelName): readonly Worker[] {
  const ranked: { rank: number; worker: Worker }[] = []
  const blocked: WorkerReason[] = []
  for (const worker of workers) {
    const rank = rankOf(worker, name)
    if (rank === undefined) continue
    const verdict = verdictOf(worker, name)
    if (verdict.allowed) ranked.push({ rank, worker })
    else blocked.push({ worker: worker.name, reason: describeVerdict(verdict) })
  }
  if (ranked.length > 0) {
    return ranked.toSorted((a, b) => a.rank - b.rank).map(({ worker }) => worker)
  }
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

function verdictOf(worker: Worker, { key, cloud }: ModelName): Verdict {
  // The stub of a cloud model is judged as one, however plain its name.
  const stub = installedOn(worker, key)?.remoteHost !== undefined
  return decidePlacement(worker.placement, key, { cloud: cloud || stub })
}

function notFound({ display }: ModelName): GatewayError {
  return new GatewayError({ code: 'not_found', detail: `model '${display}' not found` })
}
