// Settings of a tenant that can be set at run time. Plain data without zod: commands load it.

export const TENANT_FIELDS = [
  'weight',
  'max_in_flight',
  'credits',
  'actor_credits',
  'credit_window',
  'allowed_models',
  'denied_models',
  'priority',
] as const
export type TenantField = (typeof TENANT_FIELDS)[number]
