// The config over the admin socket: what runs, how the file differs, the reload.

import type { ConfigReload } from '../../config/reload.ts'
import { AdminError } from '../../contract/faults.ts'
import type { Drift } from '../../contract/schema/gateway.ts'
import type { EventRing } from '../../observe/event-ring.ts'
import type { Handlers } from '../handlers.ts'

export interface ConfigDeps {
  reload: ConfigReload
  events: EventRing
}

export function configHandlers(
  deps: ConfigDeps,
): Pick<Handlers, 'config.show' | 'config.drift' | 'config.reload'> {
  const { reload } = deps
  return {
    'config.show': () => ({ path: reload.file ?? null, config: reload.shown }),
    'config.drift': () => driftRow(reload),
    'config.reload': ({ dry_run = false }, { actor, note }) => {
      const result = reloadConfig(deps, dry_run, actor)
      if (!result.ok) {
        const message = `the config file was not taken over, what ran before still runs: ${result.problems.join('; ')}`
        const details = { problems: result.problems }
        throw new AdminError({ code: 'config_invalid', message, details })
      }
      const { changed, keys, restartNeeded, warnings } = result
      if (!dry_run) note({ changed, before: null, after: { keys }, message: said(keys) })
      return { changed, keys, restart_needed: restartNeeded, warnings }
    },
  }
}

/** One reload with its event, for the operation and for SIGHUP. */
export function reloadConfig({ reload, events }: ConfigDeps, dryRun: boolean, actor?: string) {
  const result = reload.reload(dryRun)
  if (dryRun) return result
  const object = reload.file ?? ''
  if (!result.ok) {
    const detail = result.problems.join('; ')
    events.add({ severity: 'error', event: 'config.rejected', object, detail, actor })
    return result
  }
  const restart =
    result.restartNeeded.length > 0 ? `; restart needed for ${result.restartNeeded.join(', ')}` : ''
  const detail = `${said(result.keys)}${restart}`
  events.add({ severity: 'info', event: 'config.reload', object, detail, actor })
  return result
}

export function driftRow(reload: ConfigReload): Drift {
  return { path: reload.file ?? null, ...reload.drift() }
}

function said(keys: readonly string[]): string {
  return keys.length === 0 ? 'no change' : `changed: ${keys.join(', ')}`
}
