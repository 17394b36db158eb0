// Everything that can happen to a worker, as the fleet is told it. Workers, addresses and models
// are named, not indexed: what happened may arrive after the config has changed.

import type { Config, WorkerConfig } from '../config/schema.ts'
import type { CompiledPlacement } from '../policy/placement.ts'
import type { RateSample, Rates } from '../policy/throughput.ts'
import type { Installed, LoadedModel, ModelInfo, Telemetry } from './worker.ts'

/** What one probe of one address found. */
export type ProbeResult =
  | { ok: true; ip: string | undefined; version: string | undefined; tookMs?: number }
  | { ok: false; error: string }

/** `address` is an Address's url, `model` a canonical model key. */
export type FleetEvent =
  /** One address was probed within a round. */
  | { type: 'probed'; worker: string; address: string; result: ProbeResult }
  /** A round through the addresses ended; `answered` is the first that did. */
  | {
      type: 'round_ended'
      worker: string
      answered: string | undefined
      error: string
      /** False where a request or an operator asked for it: then one failure is enough. */
      periodic: boolean
    }
  /** When the next periodic round is due, on the monotonic clock; undefined with probes off. */
  | { type: 'probe_planned'; worker: string; at: number | undefined }
  /** /api/tags answered. `installed` undefined: the body is the one that was read last. */
  | { type: 'tags_read'; worker: string; installed: ReadonlyMap<string, Installed> | undefined }
  | { type: 'tags_failed'; worker: string; error: string }
  /** /api/ps answered. `loaded` undefined: the body is the one that was read last. */
  | { type: 'loaded_read'; worker: string; loaded: ReadonlyMap<string, LoadedModel> | undefined }
  | { type: 'loaded_failed'; worker: string; error: string }
  | { type: 'shown'; worker: string; model: string; info: ModelInfo }
  /** A request's connection failed: refused, reset or closed before it was answered. */
  | { type: 'transport_fault'; worker: string; address: string; error: string }
  /** A silent request's own address did not answer a probe: it is lost now. */
  | { type: 'silent'; worker: string; address: string; error: string }
  /** A request got the first byte of its answer. */
  | { type: 'answered'; worker: string; model: string }
  /** The worker could not load the model: it is kept away from there for a while. */
  | { type: 'load_failed'; worker: string; model: string; error: string }
  /** The worker says that it does not have the model: its tags are read again. */
  | { type: 'model_missing'; worker: string; model: string }
  /** With probes off: the time that a faulty worker is left alone is over. */
  | { type: 'rested'; worker: string }
  | { type: 'draining'; worker: string; draining: boolean }
  | {
      type: 'placed'
      worker: string
      placement: CompiledPlacement
      layer: 'config' | 'override'
    }
  /** A completed request told how fast it was. */
  | { type: 'learned'; worker: string; model: string; sample: RateSample }
  /** Rates of an earlier run; what this run has learned already stays. */
  | { type: 'rates_restored'; worker: string; rates: ReadonlyMap<string, Rates> }
  /** `error`: why figures that the config asks for are missing. */
  | {
      type: 'telemetry'
      worker: string
      telemetry: Telemetry | undefined
      error: string | undefined
    }
  /** The config's workers, in order. Workers keep what is known of them under their name. */
  | { type: 'configured'; workers: readonly WorkerConfig[] }

/** The parts of the config that the fleet's room reads; a reload changes what it returns. */
export type FleetSettings = Pick<Config, 'inventory' | 'upstream' | 'model_capabilities'>

export type FleetLogName = 'worker.down' | 'worker.up' | 'worker.address'

/** Where the fleet tells operators what happened. Addresses are without credentials. */
export interface FleetLog {
  event(name: FleetLogName, fields: Readonly<Record<string, string | number>>): void
}
