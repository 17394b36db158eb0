// Pieces that several operations share. Inputs are strict (a typo is an error); outputs are plain
// objects, because a newer gateway may add fields. What may be missing in an output is null.

import { z } from 'zod'

export const Nothing = z.strictObject({})

/**
 * What every change accepts. `if_revision` is compared with `placement.revision` of the snapshot,
 * for workers.drain and workers.resume with `gateway.workers_revision`, for tenants and credits with
 * `access.tenants_revision`, for keys with `access.keys_revision`.
 */
export const ChangeOptions = z.strictObject({
  dry_run: z.boolean().optional().describe('Say what would change and change nothing.'),
  force: z.boolean().optional().describe('Overrule a guard, such as the one against orphans.'),
  if_revision: z
    .int()
    .min(0)
    .optional()
    .describe(
      'Refuse with who changed what if the document is at another revision by now. Nothing is compared where no document changes: requests.cancel, config.reload, workers.probe.',
    ),
})

/** A change of a question: the fields of the operation and those of every change. */
export const changeOf = <S extends z.ZodRawShape>(shape: S) =>
  z.strictObject({ ...shape, ...ChangeOptions.shape })

/** What a request without a num_ctx of its own gets for a model on a worker. */
export const EffectiveContext = z.object({
  tokens: z.number(),
  /** Whose number it is: of the loaded copy, its Modelfile, default_context_tokens, or a guess. */
  source: z.enum(['num_ctx', 'loaded', 'modelfile', 'worker', 'guess']),
  /** What lowers it, null where it is as large as its source says. */
  limit: z.enum(['model', 'context_limits', 'max_requested_tokens']).nullable(),
})
export type EffectiveContext = z.infer<typeof EffectiveContext>

export const WorkerName = z.string().min(1).max(63)
export const ModelName = z.string().min(1).max(512)
export const WorkerNames = z.array(WorkerName).min(1).max(1000)

/** A number that may come as text, because it stood in a query string. */
export const queryInt = (min: number, max: number) =>
  z.union([
    z.int().min(min).max(max),
    z
      .string()
      .regex(/^\d{1,15}$/, 'write a whole number')
      .transform(Number)
      .pipe(z.int().min(min).max(max)),
  ])

/** A flag that may come as text, because it stood in a query string. */
export const QueryFlag = z.union([
  z.boolean(),
  z.enum(['true', 'false']).transform((text) => text === 'true'),
])

/** Wall clock in ISO 8601, UTC: for people and scripts, never for durations. */
export const WallTime = z.string()

/**
 * The gateway's monotonic clock in milliseconds. Ages are differences to the `mono` of the newest
 * message, so that a wall clock that jumps makes no age negative.
 */
export const Mono = z.number()

export const PlacementRules = z.object({
  mode: z.enum(['allow_all', 'whitelist']),
  allowed_models: z.array(z.string()),
  denied_models: z.array(z.string()),
})
export type PlacementRules = z.infer<typeof PlacementRules>
