// The operators' side of the gateway: state they change, what they are shown, and the socket.

import { hostname } from 'node:os'
import { startAdmin } from '../admin/start.ts'
import type { Admin } from '../admin/start.ts'
import type { ModelActions } from '../admin/handlers/models.ts'
import { RequestBook } from '../admin/request-board.ts'
import type { SnapshotSources } from '../admin/snapshot.ts'
import { TenantBoard } from '../admin/tenant-board.ts'
import { TenantBook } from '../admin/tenant-book.ts'
import type { ConfigReload } from '../config/reload.ts'
import type { StoragePaths } from '../config/storage-paths.ts'
import { socketToServe } from '../contract/socket-path.ts'
import { loadOn, pullOn, removeOn, unloadOn } from '../fleet/worker-control.ts'
import type { Worker } from '../fleet/worker.ts'
import { noAuditLog, openAuditLog } from '../observe/audit-log.ts'
import type { AuditLog } from '../observe/audit-log.ts'
import type { EventRing } from '../observe/event-ring.ts'
import type { Log } from '../observe/log.ts'
import { PlacementState } from '../state/placement-state.ts'
import { WorkersState } from '../state/workers-state.ts'
import type { AccessState } from './access.ts'
import { explain, question } from './explain.ts'
import { ownState } from './own-state.ts'
import type { GatewayParts } from './parts.ts'

export interface OperatorState {
  placement: PlacementState
  workers: WorkersState
  audit: AuditLog
  book: RequestBook
  tenantBook: TenantBook
}

/** Reads what operators decided in earlier runs. Throws StartError where a file is broken. */
export function readOperatorState(
  parts: GatewayParts,
  paths: StoragePaths,
  log: Log,
): OperatorState {
  const { clock, fleet, config } = parts
  const placement = new PlacementState(
    { document: paths.model_placement_file, history: paths.placement_history_file },
    {
      clock,
      baselines: () =>
        new Map(config().workers.map(({ name, model_placement }) => [name, model_placement])),
      place: (worker, compiled, layer) =>
        fleet.apply({ type: 'placed', worker, placement: compiled, layer }),
      onHistoryTrouble: (problem) => log.event('state.broken_lines', { problem }),
    },
  )
  const workers = new WorkersState(paths.workers_file, {
    clock,
    drain: (worker, draining) => fleet.apply({ type: 'draining', worker, draining }),
  })
  const { max_bytes: maxBytes, keep } = config().audit
  const file = paths.audit_file
  return {
    placement,
    workers,
    audit: file === null ? noAuditLog : openAuditLog({ file, maxBytes, keep }, clock),
    book: new RequestBook(clock, parts.active, (id) => parts.scheduler.decisionsOf(id)),
    tenantBook: new TenantBook(clock, parts.active),
  }
}

export interface AdminOptions {
  parts: GatewayParts
  access: AccessState
  state: OperatorState
  reload: ConfigReload
  events: EventRing
  log: Log
  paths: StoragePaths
  env: Readonly<Record<string, string | undefined>>
  /** As configured; the real ones stand in it once the listeners have them. */
  addresses: { listen: string; opsListen: string | null }
  /** Writes what is only in memory yet. */
  flush(): Promise<void>
  draining(): boolean
  /** Whether a restore has come since the state was read. */
  restored(): boolean
}

/**
 * Listens on the admin socket, and says in the state folder that it does. Rejects with StartError
 * where the path cannot be used, or another gateway runs over the folder.
 */
export async function openAdmin(options: AdminOptions): Promise<Admin> {
  const { parts, log, paths, env, restored } = options
  const { prober, inventory, config } = parts
  const { path: socket } = socketToServe({
    platform: process.platform,
    env,
    uid: process.getuid?.(),
    configured: config().admin.socket,
  })
  const sources = sourcesOf(options, socket)
  const admin = await startAdmin({
    sources,
    socketMode: Number.parseInt(config().admin.mode, 8),
    storage: paths,
    flush: () => options.flush(),
    async probe(worker) {
      await prober.probeNow(worker)
      await inventory.readNow(worker)
    },
    actions: modelActions(parts),
    access: {
      keys: options.access.keys,
      credits: options.access.credits,
      usage: options.access.usage,
      state: options.access.tenants,
      tenants: () => options.access.config().tenants,
    },
    prefer: (model) => explain(options, question(model)).decision.worker,
    explain: (asked) => explain(options, asked),
    onBug: (operation, error) => log.bug('admin.bug', error, { operation }),
  })
  try {
    const owner = await ownState(paths.dir, socket, { clock: parts.clock, log, restored })
    return {
      ...admin,
      async stop() {
        await admin.stop()
        owner[Symbol.dispose]()
      },
    }
  } catch (error) {
    await admin.stop()
    throw error
  }
}

/** What operators are shown. */
function sourcesOf(options: AdminOptions, socket: string): SnapshotSources {
  const { parts, state, reload, events } = options
  const { clock, fleet, scheduler } = parts
  return {
    clock,
    facts: {
      host: hostname(),
      pid: process.pid,
      startedWall: clock.now(),
      startedMono: clock.mono(),
      socket,
      get listen() {
        return options.addresses.listen
      },
      get opsListen() {
        return options.addresses.opsListen
      },
    },
    fleet,
    slots: scheduler,
    contextOn: (worker, key) => scheduler.preflight.contextOn(worker, key),
    requests: state.book,
    traffic: () => state.book.traffic(),
    demand: state.book,
    placement: state.placement,
    workers: state.workers,
    tenants: tenantBoard(options),
    reload,
    events,
    audit: state.audit,
    accessErrors: () => options.access.errors(),
    draining: () => options.draining(),
  }
}

function tenantBoard({ parts, access, state, reload }: AdminOptions): TenantBoard {
  return new TenantBoard({
    clock: parts.clock,
    keys: access.keys,
    state: access.tenants,
    credits: access.credits,
    tenants: () => access.config().tenants,
    configured: () => reload.config.tenants,
    book: state.tenantBook,
    keyUsedAt: (id) => access.gatekeeper.keyUsedAt(id),
  })
}

function modelActions({ clock, inventory }: GatewayParts): ModelActions {
  /** The worker's lists are read again whether the order succeeded or not. */
  async function after(worker: Worker, act: Promise<void>): Promise<void> {
    try {
      await act
    } finally {
      await inventory.readNow(worker.name)
    }
  }
  return {
    load: (worker, model, signal) => after(worker, loadOn(worker, model, signal)),
    remove: (worker, model, signal) => after(worker, removeOn(worker, model, signal)),
    unload: (worker, model) => after(worker, unloaded(clock, worker, model)),
    async *pull(worker, model, signal) {
      try {
        yield* pullOn(worker, model, signal)
      } finally {
        await inventory.readNow(worker.name)
      }
    },
  }
}

async function unloaded(
  clock: GatewayParts['clock'],
  worker: Worker,
  model: string,
): Promise<void> {
  const result = await unloadOn(clock, worker, model)
  if (!result.ok) throw new Error(result.error)
}
