// Who may ask: keys and tenants as they are on disk, the config with them in force, and the
// gatekeeper in front of every request.

import { Gatekeeper } from '../access/gatekeeper.ts'
import type { SnapshotSources } from '../admin/snapshot.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import { needsKeys } from '../config/needs-keys.ts'
import type { StoragePaths } from '../config/storage-paths.ts'
import type { Log } from '../observe/log.ts'
import { StartError } from '../start-error.ts'
import { CreditsState } from '../state/credits-state.ts'
import { KeysState } from '../state/keys-state.ts'
import { TenantsState } from '../state/tenants-state.ts'
import { UsageLog } from '../state/usage-log.ts'
import type { UsedTokens } from '../state/usage-log.ts'

export interface AccessState {
  keys: KeysState
  tenants: TenantsState
  credits: CreditsState
  usage: UsageLog
  gatekeeper: Gatekeeper
  /** Notes what a request used. */
  book(used: UsedTokens): void
  /** Why the newest write of a file failed. */
  errors(): ReturnType<SnapshotSources['accessErrors']>
  /** Writes what is not written yet. Never rejects. */
  flush(): Promise<void>
  /** The running config, its tenants as they are in force. The same object while nothing changes. */
  config(): Config
}

interface AccessOptions {
  paths: StoragePaths
  clock: Clock
  log: Log
  config(): Config
  /** Called once other settings of a tenant are in force. */
  onTenantsChanged(): void
}

/** Throws StartError where a file is broken, or where others could come in without a key. */
export function openAccess(options: AccessOptions): AccessState {
  const { paths, clock, log, config: written, onTenantsChanged } = options
  const keys = new KeysState(paths.keys_file, { clock })
  const tenants = new TenantsState(paths.tenants_file, { onChange: onTenantsChanged })
  const config = inForce(written, tenants)
  refuseOpenListener({ config, keys })
  const gatekeeper = new Gatekeeper({
    clock,
    keys,
    config,
    needsKeys: () => needsKeys(config()),
    onRefused: (count) => log.event('auth.refused', { count }),
  })
  const credits = new CreditsState(paths.credits_file, {
    clock,
    tenants: () => config().tenants,
    onTrouble: (trouble) => log.event('state.trouble', { problem: trouble?.message }),
  })
  const usage = new UsageLog(paths.usage_file, clock)
  return {
    keys,
    tenants,
    credits,
    usage,
    gatekeeper,
    config,
    book: (used) => usage.book(used),
    errors: () => ({
      keys_file: keys.error,
      tenants_file: tenants.error,
      credits_file: credits.error,
      usage_file: usage.error,
    }),
    async flush() {
      await Promise.all([credits.flush(), usage.flush()])
    },
  }
}

/** Throws StartError: whoever opens a listener to others says so, or has keys. */
function refuseOpenListener({ config, keys }: Pick<AccessState, 'config' | 'keys'>): void {
  const { auth, listen } = config()
  if (auth.mode !== 'auto' || !needsKeys({ auth, listen }) || keys.anyUsable) return
  const message = `others can reach ${listen}, and there is no key yet. Start with "listen" on 127.0.0.1 and make one with \`ogw keys create\`; or write "auth": {"mode": "keys"}, and nobody is served until there is one; or write "auth": {"mode": "open"} to serve everyone`
  throw new StartError(message, 78)
}

function inForce(written: () => Config, state: TenantsState): () => Config {
  let last: { of: Config; config: Config } | undefined
  return () => {
    const of = written()
    const tenants = state.effective(of.tenants)
    if (last?.of !== of || last.config.tenants !== tenants) {
      last = { of, config: { ...of, tenants } }
    }
    return last.config
  }
}
