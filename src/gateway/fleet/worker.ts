// A worker as the gateway knows it now. The fleet is the only writer; everyone else reads these
// records by reference within one synchronous step and never keeps a field over an await.

import type { WorkerConfig } from '../config/schema.ts'
import type { BreakerState } from '../policy/breaker.ts'
import type { CoolDown } from '../policy/cool-down.ts'
import type { CompiledPlacement } from '../policy/placement.ts'
import type { Rates } from '../policy/throughput.ts'
import type { Health } from '../policy/worker-health.ts'

export type { Health } from '../policy/worker-health.ts'

/** One model as /api/tags lists it. Equal records of several workers are one object. */
export interface InstalledModel {
  /** The worker's own spelling, always with a tag. */
  name: string
  /** Canonical key, see policy/model-name. */
  key: string
  digest: string
  size: number
  details: Readonly<Record<string, unknown>>
  /** Absent before Ollama 0.30. */
  capabilities: readonly string[] | undefined
  contextLength: number | undefined
  /** A stub that runs elsewhere. */
  remoteHost: string | undefined
  remoteModel: string | undefined
}

export interface Installed {
  model: InstalledModel
  modifiedAt: string
}

/** One resident model as /api/ps lists it. */
export interface LoadedModel {
  name: string
  key: string
  digest: string
  size: number
  sizeVram: number
  /** Undefined before Ollama 0.10. */
  contextLength: number | undefined
  expiresAt: string
  details: Readonly<Record<string, unknown>>
}

/** Never read is a state of its own: requests may go there, an empty inventory refuses them. */
export type Inventory =
  | { state: 'unknown'; error: string | undefined }
  | {
      state: 'known'
      models: ReadonlyMap<string, Installed>
      /** Monotonic time of the last good answer. */
      readAt: number
      /** Why the newest refresh failed; the answer before it is kept. */
      error: string | undefined
    }

export type Loaded =
  | { state: 'unknown'; error: string | undefined }
  | {
      state: 'known'
      models: ReadonlyMap<string, LoadedModel>
      readAt: number
      error: string | undefined
    }

/** What POST /api/show said of one model on one worker, for one digest. */
export interface ModelInfo {
  digest: string
  capabilities: readonly string[] | undefined
  /** The trained maximum. */
  contextMax: number | undefined
  /** PARAMETER num_ctx of the Modelfile. */
  modelfileNumCtx: number | undefined
}

export interface Address {
  /** Origin and path prefix without a trailing slash, no credentials. */
  url: string
  /** The IP that the last probe reached. */
  ip: string | undefined
  lastError: string | undefined
}

/** One GPU as its driver or an exporter tells it. Undefined: it does not say. */
export interface GpuReading {
  /** The same for every worker that uses the GPU: its uuid, else its place on its host. */
  id: string
  /** As nvidia-smi numbers it; undefined where nothing numbers it. */
  index: number | undefined
  name: string
  /** 0 to 1. */
  utilization: number | undefined
  vramUsedBytes: number | undefined
  vramTotalBytes: number | undefined
  /** Kept by the driver: part of the total that no model gets. */
  vramReservedBytes: number | undefined
  temperatureC: number | undefined
  powerW: number | undefined
}

/** Figures of a worker's machine. Those of several GPUs are sums, of temperatures the highest. */
export interface Telemetry {
  vramUsedBytes: number | undefined
  vramTotalBytes: number | undefined
  vramReservedBytes: number | undefined
  /** 0 to 1, the mean of the GPUs. */
  gpuUtilization: number | undefined
  temperatureC: number | undefined
  powerW: number | undefined
  /** Host RAM, without what the kernel gives back at once. */
  memoryUsedBytes: number | undefined
  memoryTotalBytes: number | undefined
  gpus: readonly GpuReading[]
}

export interface Worker {
  readonly name: string
  /** Place in the config; the first worker that has a model gives its row in merged lists. */
  readonly index: number
  readonly config: WorkerConfig
  readonly addresses: readonly Address[]
  /** Index into addresses of the one new requests use; undefined while none answers. */
  readonly current: number | undefined
  readonly health: Health
  readonly version: string | undefined
  /** How long the last probe that was answered took. */
  readonly probeMs: number | undefined
  readonly draining: boolean
  readonly placement: CompiledPlacement
  readonly placementLayer: 'config' | 'override'
  readonly inventory: Inventory
  readonly loaded: Loaded
  readonly info: ReadonlyMap<string, ModelInfo>
  readonly breaker: BreakerState
  /** Model key → how long a failed load keeps that model away from here. */
  readonly loadCoolDowns: ReadonlyMap<string, CoolDown>
  readonly rates: ReadonlyMap<string, Rates>
  readonly telemetry: Telemetry | undefined
  /** Why figures that the config asks for are missing. */
  readonly telemetryError: string | undefined
  /** Monotonic time the next periodic probe is due; undefined with probes off. */
  readonly nextProbeAt: number | undefined
}

/** The address that new requests use; undefined while none answers, and for no worker. */
export function currentAddress(
  worker: Pick<Worker, 'addresses' | 'current'> | undefined,
): Address | undefined {
  return worker?.current === undefined ? undefined : worker.addresses[worker.current]
}

/** By canonical key; undefined too where the inventory was never read. */
export function installedOn({ inventory }: Worker, key: string): InstalledModel | undefined {
  return inventory.state === 'known' ? inventory.models.get(key)?.model : undefined
}

/** By canonical key; undefined too where it was never read what is loaded. */
export function loadedOn({ loaded }: Worker, key: string): LoadedModel | undefined {
  return loaded.state === 'known' ? loaded.models.get(key) : undefined
}
