// The operators' inventory: every model that any worker has installed or loaded, one row each.

import type { EffectiveContext } from '../../contract/schema/common.ts'
import type { ModelRow } from '../../contract/schema/models.ts'
import { installedOn, loadedOn } from '../../fleet/worker.ts'
import type { InstalledModel, ModelInfo, Worker } from '../../fleet/worker.ts'
import { breakerGate } from '../../policy/breaker.ts'
import { modelLimit } from '../../policy/concurrency.ts'
import { parseInventoryName } from '../../policy/model-name.ts'
import type { ContextOn } from '../../policy/context-guard.ts'
import type { ContextView } from '../sources.ts'
import { cellOf, isAllowed } from './cell.ts'
import type { KnownModel } from './cell.ts'

export interface ModelSources {
  workers: readonly Worker[]
  lastHour: ReadonlyMap<string, number>
  contextOn: ContextView
  /** Monotonic. */
  now: number
}

/** A worker that has been down for longer leaves the clients' lists, not the operators'. */
const LISTED_WHILE_DOWN_MS = 600_000

/** Sorted by name. */
export function modelRows(sources: ModelSources): ModelRow[] {
  return knownModels(sources.workers).map((model) => modelRow(model, sources))
}

/** Every model of the fleet, sorted by name, each spelled as the first worker that has it does. */
export function knownModels(workers: readonly Worker[]): KnownModel[] {
  const found = new Map<string, KnownModel>()
  for (const worker of workers) {
    for (const [key, model] of namesOf(worker)) {
      if (!found.has(key)) found.set(key, knownModel(key, model))
    }
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

interface Named {
  name: string
  remoteHost?: string | undefined
}

function* namesOf({ inventory, loaded }: Worker): Generator<[string, Named]> {
  if (inventory.state === 'known') {
    for (const [key, { model }] of inventory.models) yield [key, model]
  }
  if (loaded.state === 'known') yield* loaded.models
}

function knownModel(key: string, model: Named): KnownModel {
  const parsed = parseInventoryName(model.name, { remoteHost: model.remoteHost })
  return { name: model.name, key, cloud: parsed.ok && parsed.name.cloud }
}

export function modelRow(model: KnownModel, sources: ModelSources): ModelRow {
  const { workers, now } = sources
  const copies = workers.flatMap((worker) => copyOf(worker, model, sources))
  const installed = workers.flatMap((worker) => installedOn(worker, model.key) ?? [])
  const info = workers.flatMap((worker) => worker.info.get(model.key) ?? [])
  return {
    model: model.name,
    ...detailsOf(installed[0]),
    capabilities: capabilitiesOf(info, installed),
    context_max:
      info.find(({ contextMax }) => contextMax !== undefined)?.contextMax ??
      installed.find(({ contextLength }) => contextLength !== undefined)?.contextLength ??
      null,
    drift: new Set(copies.map(({ digest }) => digest)).size > 1,
    cloud: model.cloud,
    listed: workers.some((worker) => isListed(worker, model, now)),
    eligible: workers.filter((worker) => isEligible(worker, model, now)).length,
    requests_last_hour: sources.lastHour.get(model.key) ?? 0,
    copies,
    cells: workers.map((worker) => cellOf(worker, model)),
  }
}

function copyOf(
  worker: Worker,
  { key, cloud }: KnownModel,
  { contextOn }: ModelSources,
): ModelRow['copies'] {
  const { inventory } = worker
  const copy = inventory.state === 'known' ? inventory.models.get(key) : undefined
  if (copy === undefined) return []
  const loaded = loadedOn(worker, key)
  return [
    {
      worker: worker.name,
      digest: copy.model.digest,
      size_bytes: copy.model.size,
      modified_at: copy.modifiedAt,
      context_modelfile: worker.info.get(key)?.modelfileNumCtx ?? null,
      context_loaded: loaded?.contextLength ?? null,
      context_effective: cloud ? null : contextRow(contextOn(worker.name, key)),
      loaded: loaded !== undefined,
      output_tokens_per_s: rounded(worker.rates.get(key)?.outputPerS),
      limit: modelLimit(worker.config, key),
    },
  ]
}

export function contextRow(context: ContextOn | undefined): EffectiveContext | null {
  return context === undefined ? null : { ...context, limit: context.limit ?? null }
}

function detailsOf(model: InstalledModel | undefined) {
  return {
    family: textOf(model?.details['family']),
    parameters: textOf(model?.details['parameter_size']),
    quantization: textOf(model?.details['quantization_level']),
    size_bytes: model?.size ?? null,
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** What /api/show said counts before what /api/tags says since 0.30. */
function capabilitiesOf(
  info: readonly ModelInfo[],
  installed: readonly InstalledModel[],
): string[] | null {
  const said = [...info, ...installed].find(({ capabilities }) => capabilities !== undefined)
  return said?.capabilities === undefined ? null : [...said.capabilities]
}

function isListed(worker: Worker, model: KnownModel, now: number): boolean {
  if (installedOn(worker, model.key) === undefined) return false
  const { health } = worker
  if (health.state === 'down' && now - health.sinceMono >= LISTED_WHILE_DOWN_MS) return false
  return isAllowed(worker.placement, model)
}

function isEligible(worker: Worker, model: KnownModel, now: number): boolean {
  return (
    worker.health.state === 'up' &&
    !worker.draining &&
    breakerGate(worker.breaker, now) !== 'open' &&
    installedOn(worker, model.key) !== undefined &&
    isAllowed(worker.placement, model)
  )
}

/** One digit is what is shown; more would make a row differ with each request. */
export function rounded(rate: number | undefined): number | null {
  return rate === undefined ? null : Math.round(rate * 10) / 10
}
