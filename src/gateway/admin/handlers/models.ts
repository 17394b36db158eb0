// Models over the admin socket: the operators' inventory, and what they do with models on workers.
// Each worker of a change has an outcome of its own: one that fails does not stop the others.

import { AdminError } from '../../contract/faults.ts'
import type { PullProgress } from '../../contract/schema/models.ts'
import type { WorkerOutcome } from '../../contract/schema/workers.ts'
import { installedOn } from '../../fleet/worker.ts'
import type { Worker } from '../../fleet/worker.ts'
import type { EventRing } from '../../observe/event-ring.ts'
import { describeVerdict, decidePlacement } from '../../policy/placement.ts'
import type { Caller, Handlers } from '../handlers.ts'
import { mergeStreams } from '../merge-streams.ts'
import type { ChangeOptions } from '../placement-editor.ts'
import { presenceOf } from '../rows/cell.ts'
import type { KnownModel } from '../rows/cell.ts'
import { modelRow, modelRows } from '../rows/models.ts'
import { modelSources } from '../snapshot.ts'
import type { SnapshotSources } from '../snapshot.ts'
import { findModel, found } from './placement.ts'
import { named } from './workers.ts'

export interface PullStep {
  status: string
  digest: string | undefined
  completedBytes: number | undefined
  totalBytes: number | undefined
}

/**
 * What operators do with a model on one worker, in the worker's own spelling. Each rejects with an
 * error whose message is the worker's, and afterwards reads the worker's lists again.
 */
export interface ModelActions {
  load(worker: Worker, model: string, signal: AbortSignal): Promise<void>
  unload(worker: Worker, model: string, signal: AbortSignal): Promise<void>
  remove(worker: Worker, model: string, signal: AbortSignal): Promise<void>
  /** The newest progress each time one is asked for. Rejects when the worker says that it failed. */
  pull(worker: Worker, model: string, signal: AbortSignal): AsyncIterable<PullStep>
}

export interface ModelsHandlerDeps {
  sources: SnapshotSources
  events: EventRing
  actions: ModelActions
  /** The eligible worker that the selection prefers for the model; undefined = none is. */
  prefer(model: string): string | undefined
}

type Name = Extract<keyof Handlers, `models.${string}`>
type Input = { model: string; workers?: string[] | undefined } & ChangeOptions

export function modelsHandlers(deps: ModelsHandlerDeps): Pick<Handlers, Name> {
  const { sources, actions } = deps
  return {
    'models.list': () => modelRows(modelSources(sources)),
    'models.show': ({ model }) => modelRow(found(sources, model), modelSources(sources)),
    'models.load': (input, caller) => {
      const model = findModel(sources, input.model)
      const workers = workersOf(deps, input, () => preferred(deps, model))
      return onEach(deps, { verb: 'load', model, input, caller }, workers, actions.load)
    },
    'models.unload': (input, caller) => {
      const model = findModel(sources, input.model)
      const workers = workersOf(deps, input, () => loadedOn(sources, model))
      return onEach(deps, { verb: 'unload', model, input, caller }, workers, actions.unload)
    },
    'models.rm': (input, caller) => {
      const model = found(sources, input.model)
      const workers = workersOf(deps, input, () => [])
      return onEach(deps, { verb: 'rm', model, input, caller }, workers, actions.remove)
    },
    'models.pull': (input, caller) => pull(deps, input, caller),
  }
}

function workersOf(deps: ModelsHandlerDeps, input: Input, others: () => Worker[]): Worker[] {
  checkRevision(deps.sources, input.if_revision)
  if (input.workers === undefined) return others()
  return [...new Set(input.workers)].map((name) => named(deps.sources, name))
}

function checkRevision({ placement }: SnapshotSources, expected: number | undefined): void {
  if (expected === undefined || expected === placement.revision) return
  const last = placement.history().at(-1)
  const who = last === undefined ? '' : `: ${last.actor} did "${last.operation}"`
  const message = `the placement is at revision ${placement.revision} and not ${expected} any more${who}. Look again, then repeat the change`
  const details = { revision: placement.revision }
  throw new AdminError({ code: 'conflict', message, details })
}

function preferred({ sources, prefer }: ModelsHandlerDeps, model: KnownModel): Worker[] {
  const name = prefer(model.name)
  if (name !== undefined) return [named(sources, name)]
  const message = `no worker can load ${model.name} now; \`ogw explain ${model.name}\` says why`
  throw new AdminError({ code: 'refused', message })
}

function loadedOn({ fleet }: SnapshotSources, { key }: KnownModel): Worker[] {
  return fleet.workers().filter((worker) => presenceOf(worker, key) === 'loaded')
}

interface Action {
  verb: 'load' | 'unload' | 'rm' | 'pull'
  model: KnownModel
  input: ChangeOptions
  caller: Caller
}

type Act = (worker: Worker, model: string, signal: AbortSignal) => Promise<void>

async function onEach(
  deps: ModelsHandlerDeps,
  action: Action,
  workers: readonly Worker[],
  act: Act,
): Promise<WorkerOutcome[]> {
  const { verb, model, input, caller } = action
  const outcomes = await Promise.all(
    workers.map(async (worker): Promise<WorkerOutcome> => {
      const base = { worker: worker.name, changed: false }
      const obstacle = obstacleFor(verb, worker, model)
      if (obstacle !== undefined) return { ...base, ok: false, message: obstacle }
      if (isDone(verb, worker, model)) return { ...base, ok: true, message: DONE[verb] }
      if (input.dry_run === true) return { ...base, ok: true, message: `would ${verb}` }
      try {
        await act(worker, spelling(worker, model), caller.signal)
        return { ...base, ok: true, changed: true, message: DID[verb] }
      } catch (error) {
        return {
          ...base,
          ok: false,
          message: error instanceof Error ? error.message : String(error),
        }
      }
    }),
  )
  if (input.dry_run !== true) noteAll(deps, action, outcomes)
  return outcomes
}

const DID = { load: 'loaded', unload: 'unloaded', rm: 'removed', pull: 'pulled' } as const
const DONE = {
  load: 'loaded already',
  unload: 'not loaded',
  rm: 'not installed',
  pull: 'installed already',
} as const

function noteAll(
  { events }: ModelsHandlerDeps,
  { verb, model, caller }: Action,
  outcomes: readonly WorkerOutcome[],
): void {
  const message = outcomes.map(({ worker, message: said }) => `${worker}: ${said}`).join('; ')
  const changed = outcomes.some((outcome) => outcome.changed)
  caller.note({ changed, before: null, after: null, message })
  for (const { worker, ok, changed: did, message: detail } of outcomes) {
    if (ok && !did) continue
    const object = `${model.name} @ ${worker}`
    const severity = ok ? 'info' : 'warn'
    events.add({ severity, event: `model.${verb}`, object, detail, actor: caller.actor })
  }
}

/** Why it cannot be done there; undefined = it may be tried. */
function obstacleFor(verb: Action['verb'], worker: Worker, model: KnownModel): string | undefined {
  if (verb === 'load' || verb === 'pull') {
    const verdict = decidePlacement(worker.placement, model.key, model)
    if (!verdict.allowed) return `placement blocks it there: ${describeVerdict(verdict)}`
  }
  if (verb === 'load' && presenceOf(worker, model.key) === 'absent')
    return 'it is not installed there'
  return worker.health.state === 'down' ? `the worker is down: ${worker.health.error}` : undefined
}

function isDone(verb: Action['verb'], worker: Worker, model: KnownModel): boolean {
  const presence = presenceOf(worker, model.key)
  if (verb === 'load') return presence === 'loaded'
  if (verb === 'unload') return presence === 'installed' || presence === 'absent'
  return verb === 'rm' && presence === 'absent'
}

/** The worker's own spelling where it has the model: case matters to some routes. */
function spelling(worker: Worker, model: KnownModel): string {
  return installedOn(worker, model.key)?.name ?? model.name
}

async function* pull(
  deps: ModelsHandlerDeps,
  input: Input,
  caller: Caller,
): AsyncGenerator<PullProgress, void, undefined> {
  const model = findModel(deps.sources, input.model)
  const everywhere = (): Worker[] =>
    deps.sources.fleet
      .workers()
      .filter((worker) => obstacleFor('pull', worker, model) === undefined)
  const workers = workersOf(deps, input, everywhere)
  if (workers.length === 0) {
    const message = `no worker is up and may run ${model.name}`
    throw new AdminError({ code: 'refused', message })
  }
  const outcomes: WorkerOutcome[] = []
  const action: Action = { verb: 'pull', model, input, caller }
  try {
    yield* mergeStreams(workers.map((worker) => pullOn(deps, action, worker, outcomes)))
  } finally {
    if (input.dry_run !== true) noteAll(deps, action, outcomes)
  }
}

async function* pullOn(
  { actions }: ModelsHandlerDeps,
  { model, input, caller }: Action,
  worker: Worker,
  outcomes: WorkerOutcome[],
): AsyncGenerator<PullProgress, void, undefined> {
  const name = worker.name
  const end = (message: string, ok: boolean, changed = false): PullProgress => {
    outcomes.push({ worker: name, ok, changed, message })
    const error = ok ? null : message
    return { ...progress(name, undefined), status: ok ? message : 'failed', done: true, error }
  }
  const obstacle = obstacleFor('pull', worker, model)
  if (obstacle !== undefined) {
    yield end(obstacle, false)
    return
  }
  if (input.dry_run === true) {
    yield end('would pull', true)
    return
  }
  try {
    for await (const step of actions.pull(worker, spelling(worker, model), caller.signal)) {
      yield progress(name, step)
    }
    yield end(DID.pull, true, true)
  } catch (error) {
    yield end(error instanceof Error ? error.message : String(error), false)
  }
}

function progress(worker: string, step: PullStep | undefined): PullProgress {
  return {
    worker,
    status: step?.status ?? '',
    digest: step?.digest ?? null,
    completed_bytes: step?.completedBytes ?? null,
    total_bytes: step?.totalBytes ?? null,
    done: false,
    error: null,
  }
}
