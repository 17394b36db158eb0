// What a console says of tenants: limits, what is used of them, who may use which models. 0 is no
// limit everywhere, and is shown as ∞.

import type { TenantLine } from '../../gateway/contract/schema/tenants.ts'
import { bar } from './bars.ts'
import type { Tone } from './cell.ts'
import { pad, sanitise } from './text.ts'
import { NONE, tokens } from './units.ts'

/** Both are one limit for the operator: how much of it is gone. */
export interface Spent {
  /** 0 to 1 and more; undefined where there is no limit. */
  share: number | undefined
  state: 'unlimited' | 'fine' | 'near' | 'spent'
}

type Account = TenantLine['account']

/** From here on an operator should look. */
const NEAR = 0.9

/** `limit` 0 is none. What was granted in this window counts on top of it. */
export function spentOf({ used, granted, left }: Account, limit: number): Spent {
  if (limit === 0 || left === null) return { share: undefined, state: 'unlimited' }
  const share = used / Math.max(1, limit + granted)
  if (left === 0) return { share, state: 'spent' }
  return { share, state: share >= NEAR ? 'near' : 'fine' }
}

export const SPENT_TONE: Readonly<Record<Spent['state'], Tone>> = {
  unlimited: 'plain',
  fine: 'plain',
  near: 'warn',
  spent: 'bad',
}

const MARK = { unlimited: ' ', fine: ' ', near: '!', spent: '✗' } as const

/** The sign of no limit is one cell wide, its letters are three: who lays out a row has to know. */
export function infinity(ascii: boolean): string {
  return ascii ? 'inf' : '∞'
}

export function limitText(limit: number, ascii: boolean): string {
  return limit === 0 ? infinity(ascii) : tokens(limit)
}

export function creditBar(spent: Spent, cells: number): string {
  return spent.share === undefined ? ' '.repeat(cells) : bar(spent.share, cells)
}

export interface UsedLook {
  ascii: boolean
  /** Blanks around the stroke. */
  wide: boolean
}

/** `6.2M / 10M    62%`, `200k / 200k 100% ✗`, `31.4M / ∞`. */
export function usedOfLimit(account: Account, limit: number, { ascii, wide }: UsedLook): string {
  const spent = spentOf(account, limit)
  const whole = limit === 0 ? 0 : limit + account.granted
  const used = pad(tokens(account.used), 5, 'right')
  const of = pad(limitText(whole, ascii), 5)
  return `${used}${wide ? ' / ' : '/'}${of} ${pad(shareText(spent), 4, 'right')} ${MARK[spent.state]}`
}

export const USED_CELLS = { wide: 20, narrow: 18 } as const

/** Rounded down: 100% is said when all is gone. */
function shareText({ share }: Spent): string {
  return share === undefined ? '' : `${Math.min(999, Math.floor(share * 100))}%`
}

/** `qwen3:*, gemma4:*, not qwen3:32b +12`. */
export function aclText({ allowed, denied, more }: TenantLine['models']): string {
  const not = denied.length === 0 ? [] : [`not ${denied.join(', ')}`]
  const lists = [allowed.join(', '), ...not].filter((one) => one !== '').join(', ')
  return sanitise(`${lists === '' ? NONE : lists}${more === 0 ? '' : ` +${more}`}`)
}

/** At most five cells. */
export function weightText(weight: number): string {
  const text = String(Number(weight.toPrecision(3)))
  return text.length <= 5 ? text : weight.toExponential(0)
}

/** Where its settings come from. */
export function originOf({ in_config: written, name, set_at_run_time: set }: TenantLine): string {
  if (!written && name !== 'default') return 'made at run time'
  const from = written ? 'from the config' : 'always there'
  return set.length === 0 ? from : `${from}; set at run time: ${set.map(sanitise).join(', ')}`
}
