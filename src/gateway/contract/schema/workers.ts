// Workers over the admin socket: as rows of a list, as cards of the console.

import { z } from 'zod'
import { changeOf, Mono, Nothing, PlacementRules, WallTime } from './common.ts'
import { WorkerName, WorkerNames } from './common.ts'

const GpuFigures = {
  vram_used_bytes: z.number().nullable(),
  vram_total_bytes: z.number().nullable(),
  temperature_c: z.number().nullable(),
  power_w: z.number().nullable(),
}

/** Over all GPUs of the worker: sums, the mean utilization, the highest temperature. */
export const Telemetry = z.object({
  ...GpuFigures,
  /** 0 to 1. */
  gpu_utilization: z.number().nullable(),
  /** RAM of the worker's machine. */
  memory_used_bytes: z.number().nullable(),
  memory_total_bytes: z.number().nullable(),
  gpus: z.array(
    z.object({
      ...GpuFigures,
      /** The same on every worker that uses the GPU. */
      id: z.string(),
      name: z.string(),
      /** 0 to 1. */
      utilization: z.number().nullable(),
    }),
  ),
})

export const LoadedModel = z.object({
  model: z.string(),
  size_bytes: z.number(),
  size_vram_bytes: z.number(),
  context: z.number().nullable(),
  /** As the worker said it. */
  expires_at: z.string(),
})

export const WorkerRow = z.object({
  name: z.string(),
  /** Place in the config. */
  index: z.int(),
  /** The operator's own note from the config, empty where there is none. */
  why: z.string(),
  health: z.enum(['starting', 'up', 'down']),
  /** When `health` became what it is; null while starting. */
  since_mono: Mono.nullable(),
  /** Why it is down, null otherwise. */
  error: z.string().nullable(),
  /** The address that new requests use; null while none answers. */
  address: z.string().nullable(),
  addresses: z.array(
    z.object({
      url: z.string(),
      ip: z.string().nullable(),
      current: z.boolean(),
      last_error: z.string().nullable(),
    }),
  ),
  version: z.string().nullable(),
  draining: z.boolean(),
  breaker: z.object({
    state: z.enum(['closed', 'open', 'half_open']),
    /** When an open breaker lets one request through. */
    until_mono: Mono.nullable(),
  }),
  slots: z.object({ used: z.int(), limit: z.int() }),
  /** Models with a slot in use now. */
  model_slots: z.array(z.object({ model: z.string(), used: z.int(), limit: z.int() })),
  /** Requests that wait and that this worker could take if it were free. */
  queued: z.int(),
  loaded: z.array(LoadedModel),
  /** Models installed; null = the inventory was never read. */
  installed: z.int().nullable(),
  /** Why the newest reading of the inventory failed. */
  inventory_error: z.string().nullable(),
  /** Learned from completed requests. */
  rates: z.array(
    z.object({
      model: z.string(),
      output_tokens_per_s: z.number().nullable(),
      prompt_tokens_per_s: z.number().nullable(),
    }),
  ),
  telemetry: Telemetry.nullable(),
  /** Why figures that the config asks for are missing, null otherwise. */
  telemetry_error: z.string().nullable(),
  placement: PlacementRules.extend({
    layer: z.enum(['config', 'override']),
    /** What `reset` would bring back. */
    baseline: PlacementRules,
  }),
})
export type WorkerRow = z.infer<typeof WorkerRow>

/** What a change did on one worker. */
export const WorkerOutcome = z.object({
  worker: z.string(),
  ok: z.boolean(),
  /** False where it was so already, and for a dry run. */
  changed: z.boolean(),
  message: z.string(),
})
export type WorkerOutcome = z.infer<typeof WorkerOutcome>

const Named = changeOf({ workers: WorkerNames })

export const workerShapes = {
  'workers.list': { input: Nothing, output: z.array(WorkerRow) },
  'workers.show': {
    input: z.strictObject({ worker: WorkerName }),
    output: WorkerRow.extend({
      /** The monotonic time that since_mono and until_mono are measured against. */
      now_mono: Mono,
      tags_read_mono: Mono.nullable(),
      ps_read_mono: Mono.nullable(),
      next_probe_mono: Mono.nullable(),
      drained_at: WallTime.nullable(),
      drained_by: z.string().nullable(),
    }),
  },
  'workers.drain': { input: Named, output: z.array(WorkerOutcome) },
  'workers.resume': { input: Named, output: z.array(WorkerOutcome) },
  'workers.probe': {
    /** Without workers: all of them. */
    input: changeOf({ workers: WorkerNames.optional() }),
    output: z.array(WorkerOutcome),
  },
}
