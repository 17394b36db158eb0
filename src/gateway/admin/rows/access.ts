// One key, and one account of credits, as rows.

import type { CreditRow, KeyRow } from '../../contract/schema/access.ts'
import { creditsLeft } from '../../policy/credits.ts'
import type { Account } from '../../policy/credits.ts'
import { isUsable } from '../../state/keys-state.ts'
import type { StoredKey } from '../../state/keys-state.ts'
import type { TenantSettings } from '../../state/tenants-state.ts'

export function keyRow(key: StoredKey, now: number): KeyRow {
  const { verifier: _verifier, expires_ms, ...shown } = key
  const state = isUsable(key, now) ? 'active' : key.revoked_at === null ? 'expired' : 'revoked'
  return { ...shown, state, expires_at: isoOrNull(expires_ms) }
}

/** `limit`: of the tenant, or of each of its actors. */
export function accountRow(
  state: Account,
  { credit_window: windowMs }: Pick<TenantSettings, 'credit_window'>,
  limit: number,
): Omit<CreditRow, 'tenant' | 'actor' | 'limit'> {
  return {
    granted: state.granted,
    used: state.used,
    reserved: state.reserved,
    left: creditsLeft(state, limit) ?? null,
    resets_at: new Date(state.windowStart + windowMs).toISOString(),
  }
}

/** Of the wall clock. */
export function isoOrNull(ms: number | null | undefined): string | null {
  return ms === null || ms === undefined ? null : new Date(ms).toISOString()
}
