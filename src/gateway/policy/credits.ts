// Tokens that a tenant, and each of its actors, may use per window. Pure: time is an argument.
//
// A request reserves what it is estimated to cost when it comes in and gives that back when it is
// over, for what it really used: reservations keep many requests at once from passing one limit
// together, and nothing is ever counted twice or below zero.

export interface Account {
  /** Wall clock in milliseconds at which the window began. */
  readonly windowStart: number
  /** Tokens of requests that are over. */
  readonly used: number
  /** Tokens that running requests may still use. */
  readonly reserved: number
  /** What an operator added to the limit of this window. */
  readonly granted: number
}

/** Takes back the estimate and books what was used. Called again it does nothing. */
export interface Reservation {
  settle(tokens: number): void
}

export interface Payer {
  tenant: string
  /** Who is charged within the tenant; undefined = the tenant alone. */
  account: string | undefined
}

export type Reserved =
  | { ok: true; reservation: Reservation }
  | { ok: false; who: 'tenant' | 'actor'; resetAtMs: number }

export interface CreditLedger {
  reserve(payer: Payer, tokens: number): Reserved
}

/** Windows are counted from 00:00 UTC, one after the other without a gap. */
export function windowStart(now: number, windowMs: number): number {
  return Math.floor(now / windowMs) * windowMs
}

/**
 * The account in the window of `now`. Reservations stay: their requests still run. A clock that was
 * set back gives nobody new credits; what was used counts on in the window it is now.
 */
export function inWindow(account: Account | undefined, now: number, windowMs: number): Account {
  const start = windowStart(now, windowMs)
  if (account === undefined) return { windowStart: start, used: 0, reserved: 0, granted: 0 }
  if (start === account.windowStart) return account
  if (start < account.windowStart) return { ...account, windowStart: start }
  return { windowStart: start, used: 0, reserved: account.reserved, granted: 0 }
}

/** What is left; undefined = no limit. `limit` 0 is none. */
export function creditsLeft(
  { used, reserved, granted }: Account,
  limit: number,
): number | undefined {
  return limit === 0 ? undefined : Math.max(0, limit + granted - used - reserved)
}

export function affords(account: Account, limit: number, tokens: number): boolean {
  const left = creditsLeft(account, limit)
  return left === undefined || tokens <= left
}
