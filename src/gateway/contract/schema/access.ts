// Who may use the gateway, over the admin socket: keys and tenants. A key itself is in the answer
// to keys.create and nowhere else.

import { z } from 'zod'
import { TENANT_FIELDS } from '../tenant-fields.ts'
import { changeOf, Nothing, WallTime } from './common.ts'

export const TenantName = z.string().min(1).max(63)
const Scope = z.enum(['read', 'infer', 'manage'])
const Patterns = z.array(z.string().min(1).max(400)).max(10_000)

export const KeyRow = z.object({
  id: z.string(),
  /** `ed25519`: the ollama CLI's own key, which signs each request. */
  kind: z.enum(['secret', 'ed25519']),
  tenant: z.string(),
  scope: Scope,
  state: z.enum(['active', 'expired', 'revoked']),
  created_at: WallTime,
  created_by: z.string(),
  expires_at: WallTime.nullable(),
  revoked_at: WallTime.nullable(),
  allowed_models: z.array(z.string()),
  denied_models: z.array(z.string()),
  trust_identity_headers: z.boolean(),
})
export type KeyRow = z.infer<typeof KeyRow>

const KeyFields = {
  tenant: TenantName,
  scope: Scope.optional().describe('Each scope holds those before it. Default: infer.'),
  expires: z.string().max(20).optional().describe('From now, as in "30d". Default: never.'),
  allowed_models: Patterns.optional().describe('Default: all that the tenant may use.'),
  denied_models: Patterns.optional(),
  trust_identity_headers: z
    .boolean()
    .optional()
    .describe('Believe the user headers of Open WebUI on requests with this key.'),
}

export const TenantRow = z.object({
  name: z.string(),
  weight: z.number(),
  /** 0: unlimited. */
  max_in_flight: z.int(),
  /** Tokens per window. 0: unlimited. */
  credits: z.int(),
  actor_credits: z.int(),
  /** As in "24h". */
  credit_window: z.string(),
  allowed_models: z.array(z.string()),
  denied_models: z.array(z.string()),
  priority: z.enum(['interactive', 'background']),
  /** Fields that were set at run time, over the config. */
  set_at_run_time: z.array(z.string()),
  /** Keys that let somebody in now. */
  keys: z.int(),
})
export type TenantRow = z.infer<typeof TenantRow>

const Tokens = z.int().min(0)

export const CreditRow = z.object({
  tenant: z.string(),
  /** Null for the tenant as a whole. */
  actor: z.string().nullable(),
  /** Tokens per window. 0: unlimited. */
  limit: z.int(),
  granted: z.int(),
  used: z.int(),
  /** By requests that run. */
  reserved: z.int(),
  /** Null: unlimited. */
  left: z.int().nullable(),
  resets_at: WallTime,
})
export type CreditRow = z.infer<typeof CreditRow>

export const UsageRow = z.object({
  /** Of the tenant or the model; an actor as `tenant/actor`. */
  name: z.string(),
  requests: z.int(),
  prompt_tokens: z.int(),
  output_tokens: z.int(),
})
export type UsageRow = z.infer<typeof UsageRow>

const CreditFields = {
  tenant: TenantName,
  actor: z.string().min(1).max(200).optional().describe('Default: the tenant as a whole.'),
}

export const accessShapes = {
  'keys.list': { input: Nothing, output: z.array(KeyRow) },
  'keys.create': {
    input: changeOf(KeyFields),
    output: z.object({
      id: z.string(),
      /** Shown once: only its hash is kept. */
      key: z.string(),
      tenant: z.string(),
      scope: Scope,
      expires_at: WallTime.nullable(),
    }),
  },
  'keys.add_ed25519': {
    input: changeOf({
      ...KeyFields,
      public_key: z.string().min(1).max(2000).describe('A line such as `ssh-ed25519 AAAA… me`.'),
    }),
    output: KeyRow,
  },
  'keys.revoke': { input: changeOf({ id: z.string().min(1).max(64) }), output: KeyRow },
  usage: {
    input: z.strictObject({
      by: z.enum(['tenant', 'actor', 'model']).optional().describe('Default: tenant.'),
      since: z.string().max(20).optional().describe('Until now, at most 90d. Default: 7d.'),
    }),
    output: z.array(UsageRow),
  },
  'credits.show': {
    input: z.strictObject({ tenant: TenantName.optional() }),
    output: z.array(CreditRow),
  },
  'credits.grant': {
    input: changeOf({
      ...CreditFields,
      tokens: z.int().min(1).max(1e15),
      take_back: z
        .boolean()
        .optional()
        .describe('Take back so many of those that were granted in this window.'),
    }),
    output: CreditRow,
  },
  'credits.reset': { input: changeOf(CreditFields), output: CreditRow },
  'tenants.list': { input: Nothing, output: z.array(TenantRow) },
  'tenants.show': { input: z.strictObject({ tenant: TenantName }), output: TenantRow },
  'tenants.set': {
    input: changeOf({
      tenant: TenantName,
      weight: z.number().optional(),
      max_in_flight: Tokens.optional().describe('0: unlimited.'),
      credits: Tokens.optional().describe('0: unlimited.'),
      actor_credits: Tokens.optional().describe('0: unlimited.'),
      credit_window: z.string().max(20).optional().describe('As in "24h".'),
      allowed_models: Patterns.optional(),
      denied_models: Patterns.optional(),
      priority: z.enum(['interactive', 'background']).optional(),
      unset: z
        .array(z.enum(TENANT_FIELDS))
        .optional()
        .describe('Fields that hold as in the config again.'),
    }),
    output: TenantRow,
  },
}
