// Models over the admin socket: the operators' inventory is unfiltered, one row a model.

import { z } from 'zod'
import { changeOf, EffectiveContext, ModelName, Nothing, WorkerNames } from './common.ts'
import { Cell } from './placement.ts'
import { WorkerOutcome } from './workers.ts'

/** One installed copy of a model. */
export const ModelCopy = z.object({
  worker: z.string(),
  digest: z.string(),
  size_bytes: z.number(),
  modified_at: z.string(),
  /** PARAMETER num_ctx of the Modelfile. */
  context_modelfile: z.number().nullable(),
  /** Of the resident copy, null while it is not loaded. */
  context_loaded: z.number().nullable(),
  /** What a request gets there, and whose number it is; null for a cloud model. */
  context_effective: EffectiveContext.nullable(),
  loaded: z.boolean(),
  output_tokens_per_s: z.number().nullable(),
  /** Requests for it that may run on this worker at once. */
  limit: z.int(),
})

export const ModelRow = z.object({
  model: z.string(),
  family: z.string().nullable(),
  parameters: z.string().nullable(),
  quantization: z.string().nullable(),
  size_bytes: z.number().nullable(),
  /** Null = no worker has said yet. */
  capabilities: z.array(z.string()).nullable(),
  /** The trained maximum. */
  context_max: z.number().nullable(),
  /** Workers have different digests under this one name. */
  drift: z.boolean(),
  /** Runs in Ollama's cloud. */
  cloud: z.boolean(),
  /** Clients see it in /api/tags and /v1/models. */
  listed: z.boolean(),
  /** Workers that could take a request for it now. */
  eligible: z.int(),
  requests_last_hour: z.int(),
  copies: z.array(ModelCopy),
  /** One per worker, in config order. */
  cells: z.array(Cell),
})
export type ModelRow = z.infer<typeof ModelRow>

/** One line of a pull: the newest progress of one worker. */
export const PullProgress = z.object({
  worker: z.string(),
  /** As the worker words it, or why the worker is left out. */
  status: z.string(),
  digest: z.string().nullable(),
  completed_bytes: z.number().nullable(),
  total_bytes: z.number().nullable(),
  /** This worker has ended, well or with `error`. */
  done: z.boolean(),
  error: z.string().nullable(),
})
export type PullProgress = z.infer<typeof PullProgress>

export const modelShapes = {
  'models.list': { input: Nothing, output: z.array(ModelRow) },
  'models.show': { input: z.strictObject({ model: ModelName }), output: ModelRow },
  'models.load': {
    /** Without workers: the eligible worker that the selection prefers. */
    input: changeOf({ model: ModelName, workers: WorkerNames.optional() }),
    output: z.array(WorkerOutcome),
  },
  'models.unload': {
    /** Without workers: every worker that has it loaded. */
    input: changeOf({ model: ModelName, workers: WorkerNames.optional() }),
    output: z.array(WorkerOutcome),
  },
  'models.pull': {
    /** Without workers: every worker that is up and may run it. */
    input: changeOf({ model: ModelName, workers: WorkerNames.optional() }),
    output: PullProgress,
  },
  'models.rm': {
    input: changeOf({ model: ModelName, workers: WorkerNames }),
    output: z.array(WorkerOutcome),
  },
}
