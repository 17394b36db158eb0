// One worker as a row of lists and a card of the console.

import type { WorkerRow } from '../../contract/schema/workers.ts'
import type { Waiting } from '../../admission/ask.ts'
import { currentAddress } from '../../fleet/worker.ts'
import type { Telemetry, Worker } from '../../fleet/worker.ts'
import { breakerGate, nextTryAt } from '../../policy/breaker.ts'
import { modelLimit } from '../../policy/concurrency.ts'
import type { PlacementRules } from '../../policy/placement.ts'
import type { SlotView, TrackedRequest } from '../sources.ts'
import { rounded } from './models.ts'

export interface WorkerSources {
  slots: SlotView
  requests: readonly TrackedRequest[]
  waiting: readonly Waiting[]
  /** Monotonic. */
  now: number
}

export function workerRow(worker: Worker, sources: WorkerSources): WorkerRow {
  const { now, slots } = sources
  const gate = breakerGate(worker.breaker, now)
  return {
    name: worker.name,
    index: worker.index,
    why: worker.config.why,
    ...healthOf(worker),
    ...addressesOf(worker),
    version: worker.version ?? null,
    draining: worker.draining,
    breaker: {
      state: gate,
      until_mono: gate === 'open' ? (nextTryAt(worker.breaker) ?? null) : null,
    },
    slots: { used: slots.inFlight(worker.name), limit: worker.config.max_concurrent },
    model_slots: modelSlotsOf(worker, sources),
    queued: sources.waiting.filter(({ reasons }) =>
      reasons.some((reason) => reason.worker === worker.name),
    ).length,
    ...inventoryOf(worker),
    rates: ratesOf(worker),
    telemetry: worker.telemetry === undefined ? null : telemetryOf(worker.telemetry),
    telemetry_error: worker.telemetryError ?? null,
    placement: {
      ...rulesOf(worker.placement.rules),
      layer: worker.placementLayer,
      baseline: rulesOf(worker.config.model_placement),
    },
  }
}

function healthOf({ health }: Worker) {
  return {
    health: health.state,
    since_mono: health.state === 'starting' ? null : health.sinceMono,
    error: health.state === 'down' ? health.error : null,
  }
}

function addressesOf(worker: Worker) {
  const { addresses, current } = worker
  return {
    address: currentAddress(worker)?.url ?? null,
    addresses: addresses.map(({ url, ip, lastError }, index) => ({
      url,
      ip: ip ?? null,
      current: index === current,
      last_error: lastError ?? null,
    })),
  }
}

function modelSlotsOf(worker: Worker, { slots, requests }: WorkerSources) {
  const models = new Map<string, string>()
  for (const { worker: name, modelKey, model } of requests) {
    if (name === worker.name) models.set(modelKey, model)
  }
  return [...models]
    .map(([key, model]) => ({
      model,
      used: slots.modelInFlight(worker.name, key),
      limit: modelLimit(worker.config, key),
    }))
    .filter(({ used }) => used > 0)
}

function inventoryOf({ inventory, loaded }: Worker) {
  const resident = loaded.state === 'known' ? [...loaded.models.values()] : []
  return {
    loaded: resident.map((model) => ({
      model: model.name,
      size_bytes: model.size,
      size_vram_bytes: model.sizeVram,
      context: model.contextLength ?? null,
      expires_at: model.expiresAt,
    })),
    installed: inventory.state === 'known' ? inventory.models.size : null,
    inventory_error: inventory.error ?? loaded.error ?? null,
  }
}

function ratesOf({ rates }: Worker): WorkerRow['rates'] {
  return [...rates].map(([model, { outputPerS, promptPerS }]) => ({
    model,
    output_tokens_per_s: rounded(outputPerS),
    prompt_tokens_per_s: rounded(promptPerS),
  }))
}

function telemetryOf(telemetry: Telemetry): WorkerRow['telemetry'] {
  return {
    vram_used_bytes: telemetry.vramUsedBytes ?? null,
    vram_total_bytes: telemetry.vramTotalBytes ?? null,
    gpu_utilization: telemetry.gpuUtilization ?? null,
    temperature_c: telemetry.temperatureC ?? null,
    power_w: telemetry.powerW ?? null,
    memory_used_bytes: telemetry.memoryUsedBytes ?? null,
    memory_total_bytes: telemetry.memoryTotalBytes ?? null,
    gpus: telemetry.gpus.map((gpu) => ({
      id: gpu.id,
      name: gpu.name,
      utilization: gpu.utilization ?? null,
      vram_used_bytes: gpu.vramUsedBytes ?? null,
      vram_total_bytes: gpu.vramTotalBytes ?? null,
      temperature_c: gpu.temperatureC ?? null,
      power_w: gpu.powerW ?? null,
    })),
  }
}

export function rulesOf({ mode, allowed_models, denied_models }: PlacementRules) {
  return { mode, allowed_models: [...allowed_models], denied_models: [...denied_models] }
}
