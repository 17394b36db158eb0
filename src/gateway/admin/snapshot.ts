// All that a console shows, made from the parts of the running gateway. Reads only; every time in
// it is absolute, so that a quiet fleet makes two equal snapshots.

import type { Clock } from '../clock.ts'
import type { ConfigReload } from '../config/reload.ts'
import type { GatewaySection, Traffic } from '../contract/schema/gateway.ts'
import type { PlacementSection, Snapshot } from '../contract/schema/snapshot.ts'
import { EVENTS_KEPT } from '../contract/merge.ts'
import { VERSION } from '../contract/version.ts'
import type { AuditLog } from '../observe/audit-log.ts'
import type { EventRing } from '../observe/event-ring.ts'
import type { PlacementState } from '../state/placement-state.ts'
import type { WorkersState } from '../state/workers-state.ts'
import { modelRows, rounded } from './rows/models.ts'
import type { ModelSources } from './rows/models.ts'
import { requestRow } from './rows/requests.ts'
import { rulesOf, workerRow } from './rows/workers.ts'
import type { Demand, FleetView, RequestBoard } from './sources.ts'
import type { ContextView, SlotView, TrafficRates } from './sources.ts'
import type { TenantBoard } from './tenant-board.ts'

/** What does not change while the process lives. */
export interface GatewayFacts {
  host: string
  pid: number
  startedWall: number
  startedMono: number
  listen: string
  opsListen: string | null
  socket: string
}

type AccessFile = 'keys_file' | 'tenants_file' | 'credits_file' | 'usage_file'

export interface SnapshotSources {
  clock: Clock
  facts: GatewayFacts
  fleet: FleetView
  slots: SlotView
  contextOn: ContextView
  requests: RequestBoard
  traffic(): TrafficRates
  demand: Demand
  placement: PlacementState
  workers: WorkersState
  tenants: TenantBoard
  reload: ConfigReload
  events: EventRing
  audit: AuditLog
  /** Why the newest write of a file of keys, tenants, credits or usage failed. */
  accessErrors(): Readonly<Record<AccessFile, string | undefined>>
  /** The gateway takes no new requests. */
  draining(): boolean
}

export function makeSnapshot(sources: SnapshotSources): Snapshot {
  return {
    mono: sources.clock.mono(),
    gateway: gatewaySection(sources),
    traffic: trafficSection(sources),
    placement: placementSection(sources),
    workers: workersSection(sources),
    models: modelsSection(sources),
    requests: requestsSection(sources),
    access: sources.tenants.revisions(),
    tenants: sources.tenants.lines(),
    events: sources.events.after(0, EVENTS_KEPT),
  }
}

export function gatewaySection(sources: SnapshotSources): GatewaySection {
  const { facts, reload, slots, fleet } = sources
  const workers = fleet.workers()
  return {
    version: VERSION,
    pid: facts.pid,
    host: facts.host,
    started_at: iso(facts.startedWall),
    started_mono: facts.startedMono,
    listen: facts.listen,
    ops_listen: facts.opsListen,
    socket: facts.socket,
    draining: sources.draining(),
    workers_revision: sources.workers.revision,
    config: {
      path: reload.file ?? null,
      loaded_at: iso(reload.loadedAt),
      reload_error: reload.error ?? null,
      restart_needed: [...reload.restartNeeded],
    },
    queue: { waiting: slots.waitingCount(), limit: reload.config.admission.max_queue },
    slots: {
      used: workers.reduce((sum, { name }) => sum + slots.inFlight(name), 0),
      limit: workers.reduce((sum, { config }) => sum + config.max_concurrent, 0),
    },
    problems: problemsOf(sources),
  }
}

/** What an operator should do something about. A down worker is one: it was configured to be up. */
export function problemsOf(sources: SnapshotSources): string[] {
  const { fleet, reload, placement, workers, audit } = sources
  const down = fleet.workers().flatMap(({ name, health }) => {
    return health.state === 'down' ? [`worker ${name} is down: ${health.error}`] : []
  })
  const stated: (string | undefined)[] = [
    reload.error && `the config file was not taken over: ${reload.error}`,
    reload.restartNeeded.length > 0
      ? `a restart is needed for ${reload.restartNeeded.join(', ')}`
      : undefined,
    placement.error,
    workers.error,
    ...Object.values(sources.accessErrors()),
    audit.error && `the audit log has gaps: ${audit.error}`,
  ]
  return [...stated.flatMap((text) => text ?? []), ...down]
}

export function trafficSection({ traffic }: SnapshotSources): Traffic {
  const { requestsPerS, outputTokensPerS, errorRatio } = traffic()
  return {
    requests_per_s: rounded(requestsPerS),
    output_tokens_per_s: rounded(outputTokensPerS),
    error_ratio: errorRatio === undefined ? null : Math.round(errorRatio * 1000) / 1000,
  }
}

export function placementSection({ placement, fleet }: SnapshotSources): PlacementSection {
  const last = placement.history().at(-1)
  return {
    revision: placement.revision,
    last:
      last === undefined
        ? null
        : {
            id: last.id,
            at: last.at,
            actor: last.actor,
            operation: last.operation,
            undoes: last.undoes,
          },
    orphans: placement
      .overrides()
      .filter(([worker]) => fleet.worker(worker) === undefined)
      .map(([worker, rules]) => ({ worker, ...rulesOf(rules) })),
  }
}

export function workersSection(sources: SnapshotSources): Snapshot['workers'] {
  const { fleet, slots, clock } = sources
  const requests = sources.requests.list()
  const from = { slots, requests, waiting: slots.waiting(), now: clock.mono() }
  return fleet.workers().map((worker) => workerRow(worker, from))
}

export function modelsSection(sources: SnapshotSources): Snapshot['models'] {
  return modelRows(modelSources(sources))
}

export function modelSources({ fleet, demand, clock, contextOn }: SnapshotSources): ModelSources {
  return { workers: fleet.workers(), lastHour: demand.lastHour(), now: clock.mono(), contextOn }
}

export function requestsSection({ requests, clock }: SnapshotSources): Snapshot['requests'] {
  const now = clock.mono()
  return requests.list().map((request) => requestRow(request, now))
}

const iso = (wall: number): string => new Date(wall).toISOString()
