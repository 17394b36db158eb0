// What happens to a request that its operator can change: a log line and an event of the console,
// and noted with the request for the metrics.

import type { Lease } from '../admission/ask.ts'
import type { ActiveRequest } from './active-requests.ts'

export type NoticeName = 'preflight.warned' | 'prompt.truncated' | 'model.reload' | 'model.fallback'

export type NoticeFields = Readonly<Record<string, string | number>>

interface Teller {
  notice(event: NoticeName, fields: NoticeFields): void
}

export function notice(
  deps: Teller,
  active: ActiveRequest,
  event: NoticeName,
  fields: NoticeFields,
): void {
  active.notices.add(event)
  deps.notice(event, fields)
}

/** What is known when a request goes to the worker that it got. */
export function noteSending(
  deps: Teller,
  active: ActiveRequest,
  { lease, warnings }: { lease: Lease; warnings: readonly string[] },
): void {
  const about = { worker: lease.worker, model: lease.ask.model.key }
  if (lease.reloads) notice(deps, active, 'model.reload', about)
  if (warnings.length === 0) return
  notice(deps, active, 'preflight.warned', { ...about, warning: warnings.join('; ') })
}
