// Usage over the admin socket: sums of what was used, by tenant, actor or model.

import type { Clock } from '../../clock.ts'
import { durationMs } from '../../config/fields.ts'
import { AdminError } from '../../contract/faults.ts'
import { KEPT_MS } from '../../state/usage-log.ts'
import type { UsageLog } from '../../state/usage-log.ts'
import type { Handlers } from '../handlers.ts'

export interface UsageHandlerDeps {
  clock: Clock
  usage: UsageLog
}

const DEFAULT_SINCE = '7d'

export function usageHandlers({ clock, usage }: UsageHandlerDeps): Pick<Handlers, 'usage'> {
  return {
    async usage({ by, since = DEFAULT_SINCE }) {
      const ms = durationMs(since)
      if (ms === undefined || ms <= 0 || ms > KEPT_MS) {
        const message = 'since: write a duration of at most 90 days, as in "24h" or "7d"'
        throw new AdminError({ code: 'invalid_input', message })
      }
      return await usage.totals(by ?? 'tenant', clock.now() - ms)
    },
  }
}
