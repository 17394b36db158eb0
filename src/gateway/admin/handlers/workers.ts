// Workers over the admin socket: rows, drain and resume (kept over restarts), probes.

import { AdminError } from '../../contract/faults.ts'
import type { WorkerOutcome } from '../../contract/schema/workers.ts'
import { currentAddress } from '../../fleet/worker.ts'
import type { Inventory, Loaded, Worker } from '../../fleet/worker.ts'
import type { Caller, Handlers } from '../handlers.ts'
import { unknownWorker } from '../placement-editor.ts'
import type { ChangeOptions } from '../placement-editor.ts'
import { workerRow } from '../rows/workers.ts'
import { workersSection } from '../snapshot.ts'
import type { SnapshotSources } from '../snapshot.ts'

export interface WorkersHandlerDeps {
  sources: SnapshotSources
  /** Probes now, and reads the lists of what answers. Resolves when the verdict counts. */
  probe(worker: string): Promise<void>
}

type Name = Extract<keyof Handlers, `workers.${string}`>

export function workersHandlers(deps: WorkersHandlerDeps): Pick<Handlers, Name> {
  const { sources } = deps
  return {
    'workers.list': () => workersSection(sources),
    'workers.show': ({ worker }) => detailOf(sources, named(sources, worker)),
    'workers.drain': (input, caller) => drain(sources, input, { caller, draining: true }),
    'workers.resume': (input, caller) => drain(sources, input, { caller, draining: false }),
    'workers.probe': (input, caller) => probe(deps, input, caller),
  }
}

export function named({ fleet }: Pick<SnapshotSources, 'fleet'>, name: string): Worker {
  const worker = fleet.worker(name)
  if (worker === undefined) throw unknownWorker(fleet, name)
  return worker
}

function detailOf(sources: SnapshotSources, worker: Worker) {
  const { slots, requests, workers, clock } = sources
  const now = clock.mono()
  const from = { slots, requests: requests.list(), waiting: slots.waiting(), now }
  const drained = workers.draining(worker.name)
  return {
    ...workerRow(worker, from),
    now_mono: now,
    tags_read_mono: readAt(worker.inventory),
    ps_read_mono: readAt(worker.loaded),
    next_probe_mono: worker.nextProbeAt ?? null,
    drained_at: drained?.at ?? null,
    drained_by: drained?.actor ?? null,
  }
}

function readAt(list: Inventory | Loaded): number | null {
  return list.state === 'known' ? list.readAt : null
}

async function drain(
  sources: SnapshotSources,
  input: { workers: string[] } & ChangeOptions,
  { caller, draining }: { caller: Caller; draining: boolean },
): Promise<WorkerOutcome[]> {
  const { workers: state, events } = sources
  const names = [...new Set(input.workers)]
  // A worker that left the config while it drained may still be resumed.
  for (const name of names) if (state.draining(name) === undefined) named(sources, name)
  const check = (): void => checkRevision(sources, input.if_revision)
  if (input.dry_run === true) {
    check()
    const would = names.filter((name) => (state.draining(name) !== undefined) !== draining)
    return names.map((worker) => outcome(worker, would.includes(worker), draining))
  }
  const changed = await state.change(names, { actor: caller.actor, draining, check })
  const outcomes = names.map((worker) => outcome(worker, changed.includes(worker), draining))
  caller.note({
    changed: changed.length > 0,
    before: changed.map((worker) => ({ worker, draining: !draining })),
    after: changed.map((worker) => ({ worker, draining })),
    message: outcomes.map(({ worker, message }) => `${worker}: ${message}`).join('; '),
  })
  for (const object of changed) {
    const event = draining ? 'worker.drain' : 'worker.resume'
    const inFlight = sources.slots.inFlight(object)
    const detail = `${inFlight} in flight`
    events.add({ severity: 'info', event, object, detail, actor: caller.actor })
  }
  return outcomes
}

function outcome(worker: string, changed: boolean, draining: boolean): WorkerOutcome {
  const now = draining ? 'draining' : 'not draining'
  return { worker, ok: true, changed, message: changed ? now : `${now} already` }
}

function checkRevision({ workers }: SnapshotSources, expected: number | undefined): void {
  if (expected === undefined || expected === workers.revision) return
  const who = workers.lastActor === '' ? '' : ` by ${workers.lastActor}`
  const message = `drains are at revision ${workers.revision} and not ${expected} any more: changed${who}. Look again, then repeat the change`
  throw new AdminError({ code: 'conflict', message, details: { revision: workers.revision } })
}

async function probe(
  deps: WorkersHandlerDeps,
  input: { workers?: string[] | undefined } & ChangeOptions,
  caller: Caller,
): Promise<WorkerOutcome[]> {
  const { fleet } = deps.sources
  const names = [...new Set(input.workers ?? fleet.workers().map(({ name }) => name))]
  for (const name of names) named(deps.sources, name)
  if (input.dry_run !== true) await Promise.all(names.map((name) => deps.probe(name)))
  const outcomes = names.map((name) => probed(deps.sources, name))
  if (input.dry_run !== true) {
    const message = outcomes.map(({ worker, message: said }) => `${worker}: ${said}`).join('; ')
    caller.note({ changed: false, before: null, after: null, message })
  }
  return outcomes
}

function probed({ fleet }: SnapshotSources, name: string): WorkerOutcome {
  const worker = fleet.worker(name)
  const base = { worker: name, changed: false }
  if (worker === undefined) return { ...base, ok: false, message: 'left the config meanwhile' }
  const { health, version } = worker
  switch (health.state) {
    case 'starting':
      return { ...base, ok: false, message: 'not answered yet' }
    case 'down':
      return { ...base, ok: false, message: `down: ${health.error}` }
    case 'up': {
      const url = currentAddress(worker)?.url ?? 'no address'
      return { ...base, ok: true, message: `up at ${url}, version ${version ?? 'unknown'}` }
    }
  }
}
