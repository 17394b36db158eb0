// Requests over the admin socket: what runs, waits and just ended, and why it went where it went.
// Never a prompt, never an answer.

import { z } from 'zod'
import {
  changeOf,
  EffectiveContext,
  ModelName,
  Mono,
  Nothing,
  QueryFlag,
  queryInt,
  WallTime,
} from './common.ts'

export const RequestRow = z.object({
  id: z.string(),
  tenant: z.string(),
  actor: z.string(),
  model: z.string(),
  /** What the client asked for where an alias or a fallback changed it, else null. */
  asked_model: z.string().nullable(),
  dialect: z.string(),
  path: z.string(),
  priority: z.enum(['interactive', 'background']),
  /** `sent` = on a worker, no byte yet (a load or the prompt); `streaming` = bytes flow. */
  phase: z.enum(['waiting', 'sent', 'streaming', 'done', 'failed', 'cancelled']),
  worker: z.string().nullable(),
  entered_at: WallTime,
  entered_mono: Mono,
  /** When the current phase began. */
  phase_mono: Mono,
  attempts: z.int(),
  queue_ms: z.number().nullable(),
  first_byte_ms: z.number().nullable(),
  /** Estimated until the worker reports it. */
  prompt_tokens: z.number().nullable(),
  output_tokens: z.number().nullable(),
  output_tokens_per_s: z.number().nullable(),
  /** Why it waits, or how it ended. */
  reason: z.string().nullable(),
  status: z.int().nullable(),
})
export type RequestRow = z.infer<typeof RequestRow>

export const ScoreTerm = z.object({ name: z.string(), value: z.number(), points: z.number() })

export const Judged = z.object({
  worker: z.string(),
  /** The gate that stopped it; null = it passed them all. */
  stopped_by: z.string().nullable(),
  reason: z.string(),
  score: z.number().nullable(),
  terms: z.array(ScoreTerm),
})

export const Decision = z.object({
  at: WallTime,
  outcome: z.enum(['granted', 'queued', 'refused']),
  worker: z.string().nullable(),
  judged: z.array(Judged),
})
export type Decision = z.infer<typeof Decision>

export const RequestDetail = RequestRow.extend({
  age_ms: z.number(),
  /** Oldest first; empty when they are no longer kept. */
  decisions: z.array(Decision),
})
export type RequestDetail = z.infer<typeof RequestDetail>

export const Explanation = Decision.extend({
  judged: z.array(
    /** Null for a cloud model, whose context nobody here knows. */
    Judged.extend({ context: EffectiveContext.nullable() }),
  ),
  model: z.string(),
  /** The name that was asked for where an alias changed it, else null. */
  asked_model: z.string().nullable(),
  /** What a client would be told now; null where it would run or wait. */
  answer: z.object({ status: z.int(), message: z.string() }).nullable(),
})
export type Explanation = z.infer<typeof Explanation>

export const requestShapes = {
  'requests.list': {
    input: Nothing,
    output: z.array(RequestRow.extend({ age_ms: z.number() })),
  },
  'requests.show': {
    input: z.strictObject({ id: z.string().min(1).max(200) }),
    output: RequestDetail,
  },
  'requests.cancel': {
    input: changeOf({ id: z.string().min(1).max(200) }),
    output: z.object({ id: z.string(), cancelled: z.boolean(), message: z.string() }),
  },
  explain: {
    input: z.strictObject({
      model: ModelName,
      tools: QueryFlag.optional(),
      vision: QueryFlag.optional(),
      /** Tokens that the prompt and the answer take. */
      ctx: queryInt(1, 100_000_000).optional(),
      /** Judge as the tenant of this key. */
      key: z.string().min(1).max(200).optional(),
    }),
    output: Explanation,
  },
}
