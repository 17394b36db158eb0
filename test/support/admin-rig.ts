// The whole admin room over a real socket and real state files, on top of a real fleet whose
// workers are events: nothing is probed and nothing is sent.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { ModelActions } from '../../src/gateway/admin/handlers/models.ts'
import { RequestBook } from '../../src/gateway/admin/request-board.ts'
import type { ActiveView } from '../../src/gateway/admin/request-board.ts'
import type { SnapshotSources } from '../../src/gateway/admin/snapshot.ts'
import { TenantBoard } from '../../src/gateway/admin/tenant-board.ts'
import { TenantBook } from '../../src/gateway/admin/tenant-book.ts'
import { startAdmin } from '../../src/gateway/admin/start.ts'
import type { Admin, AdminDeps } from '../../src/gateway/admin/start.ts'
import type { Decision } from '../../src/gateway/admission/ask.ts'
import type { Clock } from '../../src/gateway/clock.ts'
import { loadConfigFile } from '../../src/gateway/config/load.ts'
import { ConfigReload } from '../../src/gateway/config/reload.ts'
import { storagePaths } from '../../src/gateway/config/storage-paths.ts'
import { AdminClient } from '../../src/gateway/contract/client.ts'
import { socketTransport } from '../../src/gateway/contract/transport.ts'
import { Fleet } from '../../src/gateway/fleet/fleet.ts'
import { openAuditLog } from '../../src/gateway/observe/audit-log.ts'
import { EventRing } from '../../src/gateway/observe/event-ring.ts'
import type { PlacementRules } from '../../src/gateway/policy/placement.ts'
import type { Disk } from '../../src/gateway/state/disk.ts'
import { PlacementState } from '../../src/gateway/state/placement-state.ts'
import { CreditsState } from '../../src/gateway/state/credits-state.ts'
import { KeysState } from '../../src/gateway/state/keys-state.ts'
import { UsageLog } from '../../src/gateway/state/usage-log.ts'
import { TenantsState } from '../../src/gateway/state/tenants-state.ts'
import { WorkersState } from '../../src/gateway/state/workers-state.ts'
import { manualClock } from './manual-clock.ts'
import { installed, loadedModel } from './worker-records.ts'

export interface RigWorker {
  name: string
  placement?: Partial<PlacementRules>
  /** Undefined: the inventory was never read. */
  installed?: readonly string[]
  loaded?: readonly string[]
}

export interface RigOptions {
  workers?: readonly RigWorker[]
  clock?: Clock
  /** The folder of an earlier rig: its state, config and socket are used again. */
  dir?: string
  disk?: Disk
  actions?: Partial<ModelActions>
  explain?: AdminDeps['explain']
}

export interface AdminRig extends AsyncDisposable {
  keys: KeysState
  readonly dir: string
  readonly socket: string
  readonly configFile: string
  readonly fleet: Fleet
  readonly client: AdminClient
  readonly sources: SnapshotSources
  readonly admin: Admin
  readonly active: ActiveView[]
  readonly cancelled: string[]
  readonly probed: string[]
  readonly bugs: unknown[]
  readonly book: RequestBook
  readonly tenantBook: TenantBook
  readonly credits: CreditsState
  /** A client of another operator. */
  clientOf(actor: string): AdminClient
  /** Stops it and keeps its folder, as a restart does. */
  stop(): Promise<void>
}

export const TWO_WORKERS: readonly RigWorker[] = [
  { name: 'node-1', installed: ['qwen3:8b', 'gemma4:12b'], loaded: ['qwen3:8b'] },
  { name: 'node-2', installed: ['qwen3:8b', 'gemma4:latest'] },
]

const DECISION: Decision = {
  at: 500,
  outcome: 'granted',
  worker: 'node-1',
  judged: () => [
    {
      worker: 'node-1',
      stoppedBy: undefined,
      reason: '',
      score: 90,
      terms: [{ name: 'loaded', value: 1, points: 60 }],
    },
    {
      worker: 'node-2',
      stoppedBy: 'placement',
      reason: 'placement rule deny qwen3:8b',
      score: undefined,
      terms: [],
    },
  ],
}

export async function startAdminRig(options: RigOptions = {}): Promise<AdminRig> {
  const { workers = TWO_WORKERS, clock = manualClock() } = options
  const dir = options.dir ?? mkdtempSync(path.join(tmpdir(), 'ogw-rig-'))
  const configFile = path.join(dir, 'config.json')
  if (options.dir === undefined) writeFileSync(configFile, configText(workers, dir))
  const loaded = loadConfigFile(configFile, {})
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const paths = storagePaths(loaded.config, {})
  const fleet = fleetOf(clock, () => reload.config, loaded.config.workers)

  const events = new EventRing(clock)
  const reload: ConfigReload = new ConfigReload({
    file: configFile,
    env: {},
    now: () => clock.now(),
    loaded,
    apply: (next) => {
      fleet.apply({ type: 'configured', workers: next.workers })
      placement.placeAll()
    },
  })
  const placement = new PlacementState(
    { document: paths.model_placement_file, history: paths.placement_history_file },
    {
      clock,
      baselines: () =>
        new Map(reload.config.workers.map(({ name, model_placement }) => [name, model_placement])),
      place: (worker, compiled, layer) =>
        fleet.apply({ type: 'placed', worker, placement: compiled, layer }),
      ...(options.disk !== undefined && { disk: options.disk }),
    },
  )
  const keys = new KeysState(paths.keys_file, { clock })
  const tenants = new TenantsState(paths.tenants_file)
  const credits = new CreditsState(paths.credits_file, {
    clock,
    tenants: () => tenants.effective(reload.config.tenants),
    onTrouble: () => {},
  })
  const drains = new WorkersState(paths.workers_file, {
    clock,
    drain: (worker, draining) => fleet.apply({ type: 'draining', worker, draining }),
  })
  know(fleet, workers)
  placement.placeAll()
  drains.drainAll()

  const active: ActiveView[] = []
  const cancelled: string[] = []
  const book = new RequestBook(
    clock,
    {
      list: () => active,
      cancel: (id, operator) => cancelled.push(`${id} ${operator}`) > 0,
    },
    () => [DECISION],
  )
  const tenantBook = new TenantBook(clock, { list: () => active })
  const socket = path.join(dir, 'admin.sock')
  const sources: SnapshotSources = {
    clock,
    facts: {
      host: 'box',
      pid: 4711,
      startedWall: clock.now(),
      startedMono: clock.mono(),
      listen: '127.0.0.1:11435',
      opsListen: null,
      socket,
    },
    fleet,
    slots: {
      inFlight: (worker) => active.filter((request) => request.worker === worker).length,
      modelInFlight: (worker, key) =>
        active.filter((request) => request.worker === worker && request.model === key).length,
      waiting: () => [],
      waitingCount: () => active.filter(({ phase }) => phase === 'waiting').length,
    },
    contextOn: () => ({ tokens: 4096, source: 'guess', limit: undefined }),
    requests: book,
    traffic: () => book.traffic(),
    demand: book,
    placement,
    workers: drains,
    tenants: new TenantBoard({
      clock,
      keys,
      state: tenants,
      credits,
      tenants: () => tenants.effective(reload.config.tenants),
      configured: () => reload.config.tenants,
      book: tenantBook,
      keyUsedAt: () => undefined,
    }),
    reload,
    events,
    audit: openAuditLog({ file: paths.audit_file ?? '', maxBytes: 1_000_000, keep: 2 }, clock),
    accessErrors: () => ({
      keys_file: keys.error,
      tenants_file: tenants.error,
      credits_file: credits.error,
      usage_file: undefined,
    }),
    draining: () => false,
  }
  const probed: string[] = []
  const bugs: unknown[] = []
  const admin = await startAdmin({
    sources,
    socketMode: 0o660,
    storage: paths,
    flush: () => credits.flush(),
    probe: async (worker) => void probed.push(worker),
    actions: { ...noActions, ...options.actions },
    access: {
      keys,
      credits,
      usage: new UsageLog(paths.usage_file, clock),
      state: tenants,
      tenants: () => tenants.effective(reload.config.tenants),
    },
    prefer: () => 'node-1',
    explain:
      options.explain ??
      (({ model }) => ({
        model,
        askedModel: undefined,
        decision: DECISION,
        localKey: model,
        refusal: undefined,
      })),
    onBug: (_operation, error) => void bugs.push(error),
  })
  const clientOf = (actor: string): AdminClient =>
    new AdminClient({ transport: socketTransport([socket]), actor })
  const stop = (): Promise<void> => admin.stop()
  return {
    dir,
    socket,
    configFile,
    fleet,
    client: clientOf('anna@pts/1'),
    sources,
    admin,
    active,
    cancelled,
    keys,
    probed,
    bugs,
    book,
    tenantBook,
    credits,
    clientOf,
    stop,
    async [Symbol.asyncDispose]() {
      await stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export function configText(workers: readonly RigWorker[], dir: string): string {
  return JSON.stringify({
    workers: workers.map(({ name, placement }) => ({
      name,
      url: 'http://127.0.0.1:1',
      ...(placement !== undefined && { model_placement: placement }),
    })),
    storage: { dir },
  })
}

function fleetOf(
  clock: Clock,
  settings: () => ConfigReload['config'],
  workers: ConfigReload['config']['workers'],
): Fleet {
  return new Fleet(
    { clock, log: { event: () => {} }, settings, bytesFlowing: () => false },
    workers,
  )
}

function know(fleet: Fleet, workers: readonly RigWorker[]): void {
  for (const { name: worker, installed: models, loaded } of workers) {
    const address = 'http://127.0.0.1:1'
    const result = { ok: true, ip: '127.0.0.1', version: '0.30.1' } as const
    fleet.apply({ type: 'probed', worker, address, result })
    fleet.apply({ type: 'round_ended', worker, answered: address, error: '', periodic: true })
    if (models !== undefined) {
      fleet.apply({
        type: 'tags_read',
        worker,
        installed: byKey(
          models.map((name) => installed(name)),
          ({ model }) => model.key,
        ),
      })
      const resident = byKey(
        (loaded ?? []).map((name) => loadedModel(name)),
        ({ key }) => key,
      )
      fleet.apply({ type: 'loaded_read', worker, loaded: resident })
    }
  }
}

function byKey<T>(rows: readonly T[], keyOf: (row: T) => string): Map<string, T> {
  return new Map(rows.map((row) => [keyOf(row), row]))
}

const noActions: ModelActions = {
  load: async () => {},
  unload: async () => {},
  remove: async () => {},
  async *pull() {
    yield { status: 'pulling', digest: 'sha256:1', completedBytes: 1, totalBytes: 2 }
  },
}
