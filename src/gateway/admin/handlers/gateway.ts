// The gateway itself: status, health, the snapshot and its feed, events, audit, state files.

import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { StoragePaths } from '../../config/storage-paths.ts'
import { AuditEntry } from '../../contract/schema/gateway.ts'
import type { StateFile, Status } from '../../contract/schema/gateway.ts'
import type { AuditLog } from '../../observe/audit-log.ts'
import type { EventRing, KeptEvent } from '../../observe/event-ring.ts'
import { backupsBefore } from '../../state/backups-before.ts'
import { STATE_FILES, STATE_ROLES } from '../../state/state-files.ts'
import type { Feed } from '../feed.ts'
import type { Handlers } from '../handlers.ts'
import { knownModels } from '../rows/models.ts'
import { gatewaySection, makeSnapshot, problemsOf, trafficSection } from '../snapshot.ts'
import type { SnapshotSources } from '../snapshot.ts'
import { driftRow } from './config.ts'
import { fleetGpus } from '../../policy/fleet-gpus.ts'
import type { Worker } from '../../fleet/worker.ts'

export interface GatewayDeps {
  sources: SnapshotSources
  feed: Feed
  audit: AuditLog
  storage: StoragePaths
  /** Writes what is only in memory yet. Rejects nothing: a file that fails says so itself. */
  flush(): Promise<void>
}

type Name =
  | 'status'
  | 'health'
  | 'snapshot'
  | 'watch'
  | 'names'
  | 'storage.list'
  | 'storage.flush'
  | 'events'
  | 'events.follow'
  | 'audit.list'

const SHOWN = 100

export function gatewayHandlers(deps: GatewayDeps): Pick<Handlers, Name> {
  const { sources, feed, audit, storage } = deps
  return {
    status: () => statusOf(sources),
    health: () => {
      const problems = problemsOf(sources)
      return { healthy: problems.length === 0, problems }
    },
    snapshot: () => makeSnapshot(sources),
    watch: (_input, { signal }) => feed.watch(signal),
    names: () => ({
      workers: sources.fleet.workers().map(({ name }) => name),
      models: knownModels(sources.fleet.workers()).map(({ name }) => name),
    }),
    'storage.list': () =>
      Promise.all([...stateFiles(sources, storage), ...automaticBackups(storage.dir)]),
    'storage.flush': async () => {
      await Promise.all([deps.flush(), audit.flush()])
      const files = await Promise.all(stateFiles(sources, storage))
      const { host } = sources.facts
      const { file: configFile } = sources.reload
      const config_file = configFile === undefined ? null : path.resolve(configFile)
      return { host, config_file, dir: storage.dir, files }
    },
    events: ({ limit = SHOWN }) => sources.events.after(0, limit),
    'events.follow': ({ limit = 0 }, { signal }) => follow(sources.events, limit, signal),
    // Lines about requests stand in the same file; they are no changes.
    'audit.list': ({ limit = SHOWN }) =>
      audit.recent(limit, (entry) => AuditEntry.safeParse(entry).data),
  }
}

function statusOf(sources: SnapshotSources): Status {
  const { fleet, clock, facts, placement } = sources
  const workers = fleet.workers()
  const count = (state: string): number =>
    workers.filter(({ health }) => health.state === state).length
  return {
    ...gatewaySection(sources),
    uptime_s: Math.max(0, Math.round((clock.mono() - facts.startedMono) / 1000)),
    revision: placement.revision,
    drift: driftRow(sources.reload),
    workers: {
      total: workers.length,
      up: count('up'),
      down: count('down'),
      draining: workers.filter(({ draining }) => draining).length,
    },
    models: knownModels(workers).length,
    gpus: gpusOf(workers),
    traffic: trafficSection(sources),
  }
}

function gpusOf(workers: readonly Worker[]): Status['gpus'] {
  const { count, vramUsedBytes, vramTotalBytes, powerW, temperatureC } = fleetGpus(workers)
  return {
    count,
    vram_used_bytes: vramUsedBytes ?? null,
    vram_total_bytes: vramTotalBytes ?? null,
    power_w: powerW ?? null,
    temperature_c: temperatureC ?? null,
  }
}

function stateFiles(sources: SnapshotSources, storage: StoragePaths): Promise<StateFile>[] {
  const errors: Partial<Record<keyof StoragePaths, string | undefined>> = {
    model_placement_file: sources.placement.error,
    placement_history_file: sources.placement.historyTrouble,
    workers_file: sources.workers.error,
    audit_file: sources.audit.error,
    ...sources.accessErrors(),
  }
  // Each of them is there even if nobody wrote it yet, so that an operator knows its place.
  return STATE_ROLES.flatMap((name) => {
    const path = storage[name]
    const { holds } = STATE_FILES[name]
    return path === null ? [] : [stateFile({ name, path, holds }, errors[name])]
  })
}

function automaticBackups(dir: string): Promise<StateFile>[] {
  const holds = 'what was before a restore; `ogw backup restore` brings it back'
  return backupsBefore(dir).map((file) => stateFile({ name: 'before_restore', path: file, holds }))
}

async function stateFile(
  file: { name: string; path: string; holds: string },
  error?: string,
): Promise<StateFile> {
  const found = await stat(file.path).catch(() => undefined) // not written yet, or not readable
  return {
    ...file,
    exists: found !== undefined,
    size_bytes: found?.size ?? null,
    modified_at: found?.mtime.toISOString() ?? null,
    error: error ?? null,
  }
}

/** The last `limit`, then each new one, until the caller leaves. */
async function* follow(
  events: EventRing,
  limit: number,
  signal: AbortSignal,
): AsyncGenerator<KeptEvent, void, undefined> {
  let seen = Math.max(0, events.seq - limit)
  let wake = Promise.withResolvers<void>()
  const end = events.onEvent(() => wake.resolve())
  const onAbort = (): void => wake.resolve()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    while (!signal.aborted) {
      // Before the look, so that an event in between wakes the next round.
      wake = Promise.withResolvers()
      if (signal.aborted) return
      const next = events.after(seen)
      seen = events.seq
      yield* next
      if (events.seq === seen && !signal.aborted) await wake.promise
    }
  } finally {
    end()
    signal.removeEventListener('abort', onAbort)
  }
}
