// A gateway for consoles: the real admin socket before a snapshot that tests change as they like,
// and that placement edits change as a real gateway's rules would.

import { AdminError } from '../../src/gateway/contract/faults.ts'
import type { Handlers } from '../../src/gateway/admin/handlers.ts'
import { operations } from '../../src/gateway/contract/operations.ts'
import type { HistoryEntry } from '../../src/gateway/contract/schema/placement.ts'
import type { Snapshot, WatchLine } from '../../src/gateway/contract/schema/snapshot.ts'
import type { OutputOf } from '../../src/gateway/contract/schema.ts'
import { type Edit, editPlacement } from '../../src/gateway/policy/placement-edit.ts'
import type { PlacementRules } from '../../src/gateway/policy/placement.ts'
import { type Asked, type FakeAdmin, startFakeAdmin } from './fake-admin.ts'
import { explanation, judged, why } from './fleet-fixture.ts'
import { tenantHandlers } from './fake-tenants.ts'
import { decideCells, largeFleet } from './large-fleet.ts'

export interface FakeGateway extends AsyncDisposable {
  readonly socket: string
  readonly asked: Asked[]
  /** Changes that were asked for and were no dry run. */
  changes(): Asked[]
  snapshot: Snapshot
  /** Changes the fleet and tells every console. */
  set(change: (before: Snapshot) => Snapshot): void
  /** Says nothing any more, but keeps its connections. */
  freeze(): void
  thaw(): void
  /** An edit by somebody else. */
  editAs(actor: string, worker: string, edit: Edit): void
}

export interface FakeGatewayOptions {
  snapshot?: Snapshot
  /** Where to listen. Default: a folder of its own. */
  socket?: string
  heartbeatMs?: number
}

export async function startFakeGateway(options: FakeGatewayOptions = {}): Promise<FakeGateway> {
  const fleet = new FakeFleet(options.snapshot ?? largeFleet({ workers: 12, models: 61 }), options)
  const admin = await startFakeAdmin(fleet.handlers(), options.socket)
  return fleet.asGateway(admin)
}

type Change = OutputOf<'placement.allow'>

class FakeFleet {
  snapshot: Snapshot
  #frozen = false
  readonly #listeners = new Set<() => void>()
  readonly #heartbeatMs: number
  readonly #history: HistoryEntry[] = []

  constructor(snapshot: Snapshot, { heartbeatMs = 1_000 }: FakeGatewayOptions) {
    this.snapshot = snapshot
    this.#heartbeatMs = heartbeatMs
  }

  asGateway(admin: FakeAdmin): FakeGateway {
    // oxlint-disable-next-line typescript/no-this-alias -- the gateway's accessors outlive this call
    const fleet = this
    return {
      socket: admin.socket,
      asked: admin.asked,
      changes: () =>
        admin.asked.filter(
          ({ operation, input }) =>
            operations[operation].changes && (input as { dry_run?: boolean }).dry_run !== true,
        ),
      get snapshot() {
        return fleet.snapshot
      },
      set snapshot(value) {
        fleet.set(() => value)
      },
      set: (change) => fleet.set(change),
      freeze: () => void (fleet.#frozen = true),
      thaw: () => {
        fleet.#frozen = false
        fleet.#tell()
      },
      editAs: (actor, worker, edit) => void fleet.#edit({ actor, edits: [{ worker, edit }] }),
      [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose](),
    }
  }

  set(change: (before: Snapshot) => Snapshot): void {
    this.snapshot = change(this.snapshot)
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  handlers(): Partial<Handlers> {
    const edits = (workers: readonly string[], edit: Edit) =>
      workers.map((worker) => ({ worker, edit }))
    return {
      watch: (_input, { signal }) => this.#watch(signal),
      snapshot: () => this.snapshot,
      names: () => ({
        workers: this.snapshot.workers.map(({ name }) => name),
        models: this.snapshot.models.map(({ model }) => model),
      }),
      'placement.why': ({ model, worker }) => [{ ...why, model, worker: worker ?? 'node-1' }],
      'placement.allow': (input, { actor }) =>
        this.#edit({
          actor,
          ...input,
          edits: edits(input.workers, { kind: 'allow', pattern: input.pattern }),
        }),
      'placement.deny': (input, { actor }) =>
        this.#edit({
          actor,
          ...input,
          edits: edits(input.workers, { kind: 'deny', pattern: input.pattern }),
        }),
      'placement.clear': (input, { actor }) =>
        this.#edit({
          actor,
          ...input,
          edits: edits(input.workers, { kind: 'clear', pattern: input.pattern }),
        }),
      'placement.toggle': (input, { actor }) =>
        this.#edit({
          actor,
          ...input,
          edits: input.cells.map(({ model, worker }) => ({
            worker,
            edit: { kind: 'toggle' as const, model: { key: model.toLowerCase(), cloud: false } },
          })),
        }),
      'placement.set': (input, { actor }) =>
        this.#edit({
          actor,
          ...input,
          edits: input.overrides.map(({ worker, ...rules }) => ({
            worker,
            edit: { kind: 'set' as const, rules },
          })),
        }),
      'placement.reset': (input, { actor }) =>
        this.#edit({ actor, ...input, edits: edits(input.workers, { kind: 'reset' }) }),
      'placement.history': () => this.#history.toReversed(),
      'placement.undo': (input, { actor }) => this.#undo({ ...input, actor }),
      'workers.drain': ({ workers }) => this.#drain(workers, true),
      'workers.resume': ({ workers }) => this.#drain(workers, false),
      'workers.probe': ({ workers = [] }) =>
        workers.map((worker) => ({ worker, ok: true, changed: false, message: 'answered in 2ms' })),
      'workers.show': ({ worker }) => this.#worker(worker),
      'models.load': ({ model, workers = ['node-1'] }) => this.#resident(model, workers, 'loaded'),
      'models.unload': ({ model, workers = ['node-1'] }) =>
        this.#resident(model, workers, 'installed'),
      'models.pull': () => pullLines(),
      'requests.show': ({ id }) => this.#request(id),
      'requests.cancel': ({ id }) => this.#cancel(id),
      explain: ({ model }) => ({ ...explanation, model }),
      ...tenantHandlers(this),
      'audit.list': () => [
        {
          at: '2026-05-01T11:58:00Z',
          actor: 'root@pts/3',
          verified: false,
          operation: 'placement.deny',
          input: {},
          outcome: 'changed',
          before: null,
          after: null,
          message: 'denied phi4:* on node-2',
        },
      ],
      'storage.list': () => [
        {
          name: 'model_placement_file',
          path: '/var/lib/ogw/model-placement.json',
          exists: true,
          size_bytes: 812,
          modified_at: '2026-05-01T11:58:00Z',
          holds: 'placement rules that operators set',
          error: null,
        },
      ],
    }
  }

  async *#watch(signal: AbortSignal): AsyncGenerator<WatchLine, void, undefined> {
    let sent: Snapshot | undefined
    while (!signal.aborted) {
      if (!this.#frozen && sent !== this.snapshot) {
        yield sent === undefined
          ? { type: 'snapshot', snapshot: this.snapshot }
          : changeOf(sent, this.snapshot)
        sent = this.snapshot
      } else if (!this.#frozen) yield { type: 'heartbeat', mono: this.snapshot.mono }
      await this.#next(signal, sent)
    }
  }

  async #next(signal: AbortSignal, sent: Snapshot | undefined): Promise<void> {
    if (!this.#frozen && sent !== this.snapshot) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, this.#heartbeatMs)
    this.#listeners.add(resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    clearTimeout(timer)
    this.#listeners.delete(resolve)
  }

  #edit(ask: EditAsk): Change {
    const before = this.snapshot
    this.#checkRevision(ask.if_revision)
    const said: string[] = []
    let workers = before.workers
    for (const { worker, edit } of ask.edits) {
      const row = workers.find(({ name }) => name === worker)
      if (row === undefined)
        throw new AdminError({ code: 'not_found', message: `there is no worker "${worker}"` })
      const override = row.placement.layer === 'override' ? rulesOf(row.placement) : undefined
      const result = editPlacement(override, row.placement.baseline, edit)
      if (!result.ok) throw new AdminError({ code: 'invalid_input', message: result.reason })
      said.push(`${result.said} on ${worker}`)
      const layer = result.override === undefined ? ('config' as const) : ('override' as const)
      const rules = rulesOf(result.override ?? row.placement.baseline)
      workers = workers.map((one) =>
        one.name === worker ? { ...one, placement: { ...one.placement, ...rules, layer } } : one,
      )
    }
    return this.#settle(ask, { before, workers, message: said.join('; ') })
  }

  #settle(
    ask: EditAsk,
    {
      before,
      workers,
      message,
    }: { before: Snapshot; workers: Snapshot['workers']; message: string },
  ): Change {
    const after = decideCells({ ...before, workers })
    const changes = after.models.flatMap((row, index) =>
      row.cells.flatMap((cell, column) => {
        const old = before.models[index]?.cells[column]
        return old === undefined || old.state === cell.state
          ? []
          : [{ model: row.model, worker: cell.worker, before: old.state, after: cell.state }]
      }),
    )
    const orphaned = after.models
      .filter((row, index) => row.copies.length > 0 && !canRun(row) && canRun(before.models[index]))
      .map(({ model }) => model)
    const changed = JSON.stringify(workers) !== JSON.stringify(before.workers)
    const plan = { changes, orphaned, refused_last_hour: 0, changed, message, workers: [] }
    if (ask.dry_run === true) return { ...plan, id: null, revision: before.placement.revision }
    if (orphaned.length > 0 && ask.force !== true) {
      throw new AdminError({
        code: 'refused',
        message: 'it would leave a model without a worker',
        details: { force: true },
      })
    }
    if (!changed) return { ...plan, id: null, revision: before.placement.revision }
    const revision = before.placement.revision + 1
    const entry: HistoryEntry = {
      id: revision,
      at: new Date().toISOString(),
      actor: ask.actor,
      operation: message,
      before: ask.edits.map(({ worker }) => ({ worker, rules: overrideOf(before, worker) })),
      after: ask.edits.map(({ worker }) => ({
        worker,
        rules: overrideOf({ ...before, workers }, worker),
      })),
      undoes: ask.undoes ?? null,
    }
    this.#history.push(entry)
    const { before: _before, after: _after, ...last } = entry
    this.set(() => ({ ...after, placement: { ...after.placement, revision, last } }))
    return { ...plan, id: revision, revision }
  }

  #checkRevision(wanted: number | undefined): void {
    const { revision } = this.snapshot.placement
    if (wanted === undefined || wanted === revision) return
    const by = this.#history.at(-1)
    const message = `placement is at revision ${revision}, not ${wanted}: ${by?.actor ?? 'somebody'} did "${by?.operation ?? 'an edit'}"`
    throw new AdminError({ code: 'conflict', message })
  }

  #undo(ask: {
    id?: number | undefined
    actor: string
    dry_run?: boolean | undefined
    force?: boolean | undefined
    if_revision?: number | undefined
  }): Change {
    const entry = this.#history.find(({ id }) => id === (ask.id ?? this.#history.at(-1)?.id))
    if (entry === undefined)
      throw new AdminError({ code: 'not_found', message: `there is no edit ${ask.id ?? ''}` })
    const edits = entry.before.map(({ worker, rules }) => ({
      worker,
      edit: rules === null ? ({ kind: 'reset' } as const) : ({ kind: 'set', rules } as const),
    }))
    const change = this.#edit({ ...ask, edits, undoes: entry.id })
    return { ...change, message: `took back "${entry.operation}"` }
  }

  #drain(names: readonly string[], draining: boolean): OutputOf<'workers.drain'> {
    this.set((before) => ({
      ...before,
      gateway: { ...before.gateway, workers_revision: before.gateway.workers_revision + 1 },
      workers: before.workers.map((row) => (names.includes(row.name) ? { ...row, draining } : row)),
    }))
    const message = draining ? 'drains, 1 request still runs' : 'takes requests again'
    return names.map((worker) => ({ worker, ok: true, changed: true, message }))
  }

  #resident(
    model: string,
    names: readonly string[],
    presence: 'loaded' | 'installed',
  ): OutputOf<'models.load'> {
    this.set((before) =>
      decideCells({
        ...before,
        models: before.models.map((row) =>
          row.model === model
            ? {
                ...row,
                cells: row.cells.map((cell) =>
                  names.includes(cell.worker) ? { ...cell, presence } : cell,
                ),
              }
            : row,
        ),
      }),
    )
    const message = presence === 'loaded' ? `loaded ${model}` : `unloaded ${model}`
    return names.map((worker) => ({ worker, ok: true, changed: true, message }))
  }

  #worker(name: string): OutputOf<'workers.show'> {
    const row = this.snapshot.workers.find((one) => one.name === name)
    if (row === undefined)
      throw new AdminError({ code: 'not_found', message: `there is no worker "${name}"` })
    const { mono } = this.snapshot
    return {
      ...row,
      now_mono: mono,
      tags_read_mono: mono - 4_000,
      ps_read_mono: mono - 1_000,
      next_probe_mono: mono + 3_000,
      drained_at: null,
      drained_by: null,
    }
  }

  #request(id: string): OutputOf<'requests.show'> {
    const row = this.snapshot.requests.find((one) => one.id === id)
    if (row === undefined)
      throw new AdminError({ code: 'not_found', message: `there is no request "${id}"` })
    const decision = {
      at: '2026-05-01T11:59:30Z',
      outcome: 'granted' as const,
      worker: 'node-1',
      judged,
    }
    return { ...row, age_ms: this.snapshot.mono - row.entered_mono, decisions: [decision] }
  }

  #cancel(id: string): OutputOf<'requests.cancel'> {
    this.set((before) => ({
      ...before,
      requests: before.requests.map((row) =>
        row.id === id ? { ...row, phase: 'cancelled' as const } : row,
      ),
    }))
    return { id, cancelled: true, message: `cancelled ${id}` }
  }
}

interface EditAsk {
  actor: string
  edits: readonly { worker: string; edit: Edit }[]
  undoes?: number
  dry_run?: boolean | undefined
  force?: boolean | undefined
  if_revision?: number | undefined
}

const rulesOf = ({ mode, allowed_models, denied_models }: PlacementRules) => ({
  mode,
  allowed_models: [...allowed_models],
  denied_models: [...denied_models],
})

function overrideOf({ workers }: Pick<Snapshot, 'workers'>, name: string) {
  const placement = workers.find((row) => row.name === name)?.placement
  return placement?.layer === 'override' ? rulesOf(placement) : null
}

const canRun = (row: Snapshot['models'][number] | undefined): boolean =>
  row?.cells.some(({ state }) => state === 'loaded' || state === 'installed') ?? false

function changeOf(before: Snapshot, after: Snapshot): WatchLine {
  const rows = <T>(old: readonly T[], now: readonly T[], nameOf: (row: T) => string) => {
    if (old === now) return undefined
    const known = new Set(old)
    const names = new Set(now.map(nameOf))
    return {
      set: now.filter((row) => !known.has(row)),
      gone: old.map(nameOf).filter((name) => !names.has(name)),
    }
  }
  const lastSeq = before.events.at(-1)?.seq ?? 0
  return {
    type: 'change',
    mono: after.mono,
    gateway: after.gateway,
    traffic: after.traffic,
    placement: after.placement,
    workers: rows(before.workers, after.workers, ({ name }) => name),
    models: rows(before.models, after.models, ({ model }) => model),
    requests: rows(before.requests, after.requests, ({ id }) => id),
    ...(after.access !== undefined && { access: after.access }),
    ...(after.tenants !== undefined && {
      tenants: rows(before.tenants ?? [], after.tenants, ({ name }) => name),
    }),
    events: after.events.filter(({ seq }) => seq > lastSeq),
  }
}

async function* pullLines(): AsyncGenerator<OutputOf<'models.pull'>, void, undefined> {
  const line = { worker: 'node-1', digest: null, total_bytes: 100, error: null }
  yield { ...line, status: 'pulling', completed_bytes: 40, done: false }
  yield { ...line, status: 'success', completed_bytes: 100, done: true }
}

if (process.argv[1] === import.meta.filename) {
  const [socket = '/tmp/ogw-fake.sock', workers = '12', models = '61'] = process.argv.slice(2)
  const snapshot = largeFleet({ workers: Number(workers), models: Number(models) })
  const gateway = await startFakeGateway({ socket, snapshot })
  console.log(`listening on ${gateway.socket}`)
}
