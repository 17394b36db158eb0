// The admin room as the composition root makes it: give it the parts of the gateway, get a socket
// that serves operators.

import type { ConfigReload } from '../config/reload.ts'
import type { StoragePaths } from '../config/storage-paths.ts'
import { Feed } from './feed.ts'
import type { Handlers } from './handlers.ts'
import { configHandlers, reloadConfig } from './handlers/config.ts'
import { creditsHandlers } from './handlers/credits.ts'
import type { CreditsHandlerDeps } from './handlers/credits.ts'
import { gatewayHandlers } from './handlers/gateway.ts'
import { keysHandlers } from './handlers/keys.ts'
import type { KeysHandlerDeps } from './handlers/keys.ts'
import { modelsHandlers } from './handlers/models.ts'
import type { ModelActions } from './handlers/models.ts'
import { placementHandlers } from './handlers/placement.ts'
import { requestsHandlers } from './handlers/requests.ts'
import type { ExplainAnswer, ExplainQuestion } from './handlers/requests.ts'
import { tenantsHandlers } from './handlers/tenants.ts'
import type { TenantsHandlerDeps } from './handlers/tenants.ts'
import { usageHandlers } from './handlers/usage.ts'
import type { UsageHandlerDeps } from './handlers/usage.ts'
import { workersHandlers } from './handlers/workers.ts'
import { startAdminServer } from './server.ts'
import type { AdminServerDeps } from './server.ts'
import type { SnapshotSources } from './snapshot.ts'

export interface AdminDeps {
  /** What is shown; `facts.socket` is the path to listen on. */
  sources: SnapshotSources
  /** Rights of the socket, as in 0o660. */
  socketMode: number
  storage: StoragePaths
  /** Writes what is only in memory yet. */
  flush(): Promise<void>
  /** Probes now and reads the lists of what answers. */
  probe(worker: string): Promise<void>
  actions: ModelActions
  access: Omit<
    KeysHandlerDeps & TenantsHandlerDeps & CreditsHandlerDeps & UsageHandlerDeps,
    'clock' | 'events' | 'board'
  >
  /** The eligible worker that the selection prefers for a model, undefined = none. */
  prefer(model: string): string | undefined
  explain(question: ExplainQuestion): ExplainAnswer
  onBug: AdminServerDeps['onBug']
}

export interface Admin {
  /** Ends consoles and running operations, removes the socket, writes the rest of the audit log. */
  stop(): Promise<void>
  /** For SIGHUP: as the operation, by nobody. */
  reload(): ReturnType<ConfigReload['reload']>
}

/** Listens on the admin socket. Throws StartError where the path cannot be used. */
export async function startAdmin(deps: AdminDeps): Promise<Admin> {
  const { sources, socketMode: mode } = deps
  const { audit, facts } = sources
  const server = await startAdminServer(
    {
      handlers: handlersOf(deps),
      audit: (record) => audit.write({ verified: false, ...record }),
      onBug: deps.onBug,
    },
    { path: facts.socket, mode },
  )
  return {
    async stop() {
      await server.stop()
      await audit.flush()
    },
    reload: () => reloadConfig(sources, false),
  }
}

function handlersOf(deps: AdminDeps): Handlers {
  const { sources, storage, actions, prefer, probe } = deps
  const { placement: state, fleet, demand, events, requests, clock, audit } = sources
  return {
    ...gatewayHandlers({
      sources,
      feed: new Feed(sources),
      audit,
      storage,
      flush: () => deps.flush(),
    }),
    ...workersHandlers({ sources, probe }),
    ...placementHandlers({ state, fleet, demand, events }),
    ...modelsHandlers({ sources, events, actions, prefer }),
    ...requestsHandlers({
      clock,
      requests,
      events,
      explain: (question) => deps.explain(question),
      contextOn: sources.contextOn,
    }),
    ...keysHandlers({ clock, events, ...deps.access }),
    ...creditsHandlers({ clock, events, ...deps.access }),
    ...usageHandlers({ clock, ...deps.access }),
    ...tenantsHandlers({ board: sources.tenants, events, ...deps.access }),
    ...configHandlers(sources),
  }
}
