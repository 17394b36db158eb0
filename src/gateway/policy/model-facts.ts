// What is known of one model on one worker, gathered from the worker's record: everything that the
// gates and the score ask of it but what changes from request to request. Looking it up costs more
// than deciding by it, so that admission keeps these facts until the record changes.

import type { InstalledModel, LoadedModel, ModelInfo, Worker } from '../fleet/worker.ts'
import { isOfDigest } from './capability.ts'
import type { ModelName } from './model-name.ts'
import { valueFor } from './pattern-table.ts'
import { decidePlacement } from './placement.ts'
import type { Verdict } from './placement.ts'

export interface ModelFacts {
  verdict: Verdict
  /** `unknown`: the inventory was never read. */
  presence: 'installed' | 'missing' | 'unknown'
  /** It would run elsewhere: by its name, or because the worker lists it as a stub. */
  cloud: boolean
  installed: InstalledModel | undefined
  loaded: LoadedModel | undefined
  /** What /api/show said of the digest that is installed. */
  info: ModelInfo | undefined
  /** The worker's own `context_limits` for the model, in tokens. */
  contextLimit: number | undefined
  /** Learned output tokens per second; 0 = unknown. */
  outputPerS: number
}

export function modelFactsOf(worker: Worker, { key, cloud: byName }: ModelName): ModelFacts {
  const { inventory, loaded } = worker
  const installed = inventory.state === 'known' ? inventory.models.get(key)?.model : undefined
  const cloud = byName || (installed?.remoteHost ?? '') !== ''
  const info = worker.info.get(key)
  return {
    verdict: decidePlacement(worker.placement, key, { cloud }),
    presence: inventory.state === 'unknown' ? 'unknown' : installed ? 'installed' : 'missing',
    cloud,
    installed,
    loaded: loaded.state === 'known' ? loaded.models.get(key) : undefined,
    info: info !== undefined && isOfDigest(installed, info) ? info : undefined,
    contextLimit: valueFor(worker.config.context_limits, key),
    outputPerS: worker.rates.get(key)?.outputPerS ?? 0,
  }
}

/** Equal facts of several workers are kept as one object. */
export function sameFacts(a: ModelFacts, b: ModelFacts): boolean {
  return (
    a.verdict.allowed === b.verdict.allowed &&
    a.presence === b.presence &&
    a.cloud === b.cloud &&
    a.installed === b.installed &&
    a.loaded === b.loaded &&
    a.info === b.info &&
    a.contextLimit === b.contextLimit &&
    a.outputPerS === b.outputPerS
  )
}
