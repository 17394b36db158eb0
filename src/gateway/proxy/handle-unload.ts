// `ollama stop` and an eject button are inference calls with no work and keep_alive 0. Routed like
// inference they would load the model on another worker, so they go to every worker that has the
// model loaded, and to nobody else.

import type { WorkerReason } from '../errors.ts'
import { GatewayError } from '../errors.ts'
import { installedOn, loadedOn } from '../fleet/worker.ts'
import type { Worker } from '../fleet/worker.ts'
import type { Answerable, InferenceRequest } from './inference-deps.ts'

export interface UnloadDeps {
  /** Wall clock in milliseconds. */
  now(): number
  workers(): readonly Worker[]
  /** Sends an empty unload request; the text says why it failed. */
  unloadOn(worker: Worker, model: string): Promise<{ ok: true } | { ok: false; error: string }>
}

/** Throws GatewayError model_not_installed, or attempts_failed where a worker did not unload. */
export async function unloadEverywhere(
  { now, workers, unloadOn }: UnloadDeps,
  { name, facts, ctx }: InferenceRequest,
): Promise<Answerable> {
  const { key } = name
  const holders = workers().filter((worker) => loadedOn(worker, key) !== undefined)
  if (holders.length === 0 && !workers().some((worker) => mayHave(worker, key))) {
    throw new GatewayError({ code: 'not_found', detail: `model '${facts.model}' not found` })
  }
  const results = await Promise.all(
    holders.map(async (worker) => ({
      worker: worker.name,
      result: await unloadOn(worker, spellingOn(worker, key)),
    })),
  )
  const failures = results.flatMap(({ worker, result }): WorkerReason[] =>
    result.ok ? [] : [{ worker, reason: `did not unload it: ${result.error}` }],
  )
  if (failures.length > 0) {
    throw new GatewayError({ code: 'attempts_failed', model: facts.model, workers: failures })
  }
  const created = new Date(now()).toISOString().replace('Z', '000000Z')
  const work =
    ctx.path === '/api/chat' ? { message: { role: 'assistant', content: '' } } : { response: '' }
  return {
    status: 200,
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify({
      model: facts.model,
      created_at: created,
      ...work,
      done: true,
      done_reason: 'unload',
    }),
  }
}

function mayHave({ inventory }: Worker, key: string): boolean {
  return inventory.state === 'unknown' || inventory.models.has(key)
}

function spellingOn(worker: Worker, key: string): string {
  return installedOn(worker, key)?.name ?? loadedOn(worker, key)?.name ?? key
}
