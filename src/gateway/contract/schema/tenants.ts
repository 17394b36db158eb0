// Tenants as a console lists them: settings, what they do now, what they have used. Their actors and
// keys, of which there may be thousands, are asked for one tenant at a time.

import { z } from 'zod'
import { CreditRow, KeyRow, TenantName, TenantRow } from './access.ts'
import { queryInt, WallTime } from './common.ts'

/** What is compared with the `if_revision` of a change. */
export const AccessSection = z.object({
  /** For tenants.set, credits.grant and credits.reset. */
  tenants_revision: z.int(),
  /** For keys.create, keys.add_ed25519 and keys.revoke. */
  keys_revision: z.int(),
})
export type AccessSection = z.infer<typeof AccessSection>

const Account = CreditRow.omit({ tenant: true, actor: true, limit: true })

export const TenantLine = TenantRow.omit({ allowed_models: true, denied_models: true }).extend({
  /** The config has it; where not, it was made at run time, or is the `default` that always is. */
  in_config: z.boolean(),
  /** The first patterns of each list: a list may hold thousands. */
  models: z.object({
    allowed: z.array(z.string()),
    denied: z.array(z.string()),
    /** Patterns of both lists that are left out. */
    more: z.int(),
  }),
  /** That have an account of credits. */
  actors: z.int(),
  /** Requests on a worker. */
  active: z.int(),
  queued: z.int(),
  /** That ended in the last minute. */
  requests_last_minute: z.int(),
  /** In plus out, of those. */
  tokens_last_minute: z.int(),
  account: Account,
})
export type TenantLine = z.infer<typeof TenantLine>

const ActorLine = z.object({
  actor: z.string(),
  active: z.int(),
  queued: z.int(),
  requests_last_hour: z.int(),
  /** Null: nothing of it has ended since the gateway started. */
  last_at: WallTime.nullable(),
  /** Null: nobody vouches for it, so that it is part of a queue's order and has no credits. */
  account: Account.nullable(),
})
export type ActorLine = z.infer<typeof ActorLine>

const KeyUse = KeyRow.extend({
  /** Null: not since the gateway started. */
  last_used_at: WallTime.nullable(),
})
export type KeyUse = z.infer<typeof KeyUse>

export const tenantShapes = {
  'tenants.use': {
    input: z.strictObject({
      tenant: TenantName,
      limit: queryInt(1, 1000).optional().describe('Of each list. Default: 100.'),
    }),
    output: z.object({
      tenant: z.string(),
      /** Those that run or wait first, then those that used most. */
      actors: z.array(ActorLine),
      actors_total: z.int(),
      /** Those that let somebody in first, then those used last. */
      keys: z.array(KeyUse),
      keys_total: z.int(),
    }),
  },
}
