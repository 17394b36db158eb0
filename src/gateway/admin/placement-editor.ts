// An operator's placement edit from its words to its effect: the workers it names, the rules it
// leaves, what that does to the fleet, and the guards that may refuse it.

import { AdminError } from '../contract/faults.ts'
import type { PlacementChange } from '../contract/schema/placement.ts'
import type { EventRing } from '../observe/event-ring.ts'
import { compilePlacement } from '../policy/placement.ts'
import type { PlacementRules } from '../policy/placement.ts'
import { editPlacement } from '../policy/placement-edit.ts'
import type { Edit, Override } from '../policy/placement-edit.ts'
import { placementImpact } from '../policy/placement-impact.ts'
import type { Impact } from '../policy/placement-impact.ts'
import type { PlacementState } from '../state/placement-state.ts'
import type { Caller } from './handlers.ts'
import { presenceOf } from './rows/cell.ts'
import { knownModels } from './rows/models.ts'
import { rulesOf } from './rows/workers.ts'
import type { Demand, FleetView } from './sources.ts'

export interface EditorDeps {
  state: PlacementState
  fleet: FleetView
  demand: Demand
  events: EventRing
}

export interface ChangeOptions {
  dry_run?: boolean | undefined
  force?: boolean | undefined
  if_revision?: number | undefined
}

/** One worker and what is done to it; a worker named twice is edited twice, in order. */
export interface WorkerEdit {
  worker: string
  edit: Edit
}

export interface EditRequest {
  /** As in `allow`; the event is called `placement.allow`. */
  verb: string
  /** What it is about, as in `qwen3:8b node-2`. */
  object: string
  options: ChangeOptions
  /** Asked within the transaction, so that it sees the newest state. May throw AdminError. */
  edits(): WorkerEdit[] | { overrides: ReadonlyMap<string, Override>; undoes: number; said: string }
}

interface Draft {
  overrides: ReadonlyMap<string, Override>
  operation: string
  undoes: number | undefined
  said: ReadonlyMap<string, string>
  impact: Impact
}

/** Runs one edit or plans it. Throws AdminError; NotSaved where the disk refuses. */
export async function runEdit(
  deps: EditorDeps,
  request: EditRequest,
  caller: Caller,
): Promise<PlacementChange> {
  const { options } = request
  const decide = (): Draft => {
    checkRevision(deps.state, options.if_revision)
    return draftOf(deps, request)
  }
  if (options.dry_run === true) return dryRun(deps, decide())

  const { decided, entry } = await deps.state.edit(caller.actor, () => {
    const draft = decide()
    if (options.force !== true) refuseOrphans(draft.impact)
    return draft
  })
  const message = messageOf(decided)
  const changed = entry !== undefined
  caller.note({ changed, before: entry?.before ?? null, after: entry?.after ?? null, message })
  if (changed) {
    const { verb } = request
    const object = decided.operation.slice(verb.length).trim()
    const event = { severity: 'info', event: `placement.${verb}`, object, detail: message } as const
    deps.events.add({ ...event, actor: caller.actor, revision: entry.id })
  }
  return answerOf(deps, decided, { changed, id: entry?.id ?? null, message })
}

function dryRun(deps: EditorDeps, draft: Draft): PlacementChange {
  const changed = draft.overrides.size > 0
  const message = changed ? `dry run: ${messageOf(draft)}` : 'no change'
  return answerOf(deps, draft, { changed, id: null, message })
}

function draftOf(deps: EditorDeps, request: EditRequest): Draft {
  const asked = request.edits()
  const object = Array.isArray(asked) ? request.object : String(asked.undoes)
  const operation = `${request.verb} ${object}`.trim()
  const overrides = new Map<string, Override>()
  const said = new Map<string, string>()
  if (!Array.isArray(asked)) {
    for (const [worker, override] of asked.overrides) {
      overrides.set(worker, override)
      said.set(worker, asked.said)
    }
    const impact = impactOf(deps, overrides)
    return { overrides, operation, undoes: asked.undoes, said, impact }
  }
  for (const { worker, edit } of asked) {
    const current = overrides.has(worker) ? overrides.get(worker) : deps.state.override(worker)
    const edited = editPlacement(current, baselineOf(deps, worker), edit)
    if (!edited.ok) throw refusedEdit(edit, worker, edited.reason)
    if (edited.changed) overrides.set(worker, edited.override)
    said.set(worker, edited.said)
  }
  return { overrides, operation, undoes: undefined, said, impact: impactOf(deps, overrides) }
}

function refusedEdit(edit: Edit, worker: string, reason: string): AdminError {
  const code = edit.kind === 'preset' ? 'refused' : 'invalid_input'
  return new AdminError({ code, message: `${worker}: ${reason}` })
}

/** Throws not_found for a name that neither the config nor an override knows. */
export function baselineOf({ fleet, state }: EditorDeps, worker: string): PlacementRules {
  const baseline = fleet.worker(worker)?.config.model_placement ?? state.override(worker)
  if (baseline !== undefined) return baseline
  throw unknownWorker(fleet, worker)
}

/** A fleet of 200 is not listed whole. */
const MAX_NAMES = 20

export function unknownWorker(fleet: FleetView, worker: string): AdminError {
  const names = fleet.workers().map(({ name }) => name)
  const shown = names.slice(0, MAX_NAMES).join(', ')
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''
  const message = `there is no worker "${worker}"; the config has ${shown || 'none'}${more}`
  return new AdminError({ code: 'not_found', message, details: { worker } })
}

function impactOf(deps: EditorDeps, overrides: ReadonlyMap<string, Override>): Impact {
  const workers = deps.fleet.workers().map((worker) => ({
    name: worker.name,
    before: worker.placement,
    after: overrides.has(worker.name)
      ? compilePlacement(overrides.get(worker.name) ?? worker.config.model_placement)
      : worker.placement,
    presence: (key: string) => presenceOf(worker, key),
  }))
  return placementImpact(knownModels(deps.fleet.workers()), workers, deps.demand.lastHour())
}

function checkRevision(state: PlacementState, expected: number | undefined): void {
  if (expected === undefined || expected === state.revision) return
  const since = state.history().filter(({ id }) => id > expected)
  const who = since
    .slice(-3)
    .map(({ id, actor, operation }) => `${actor} did "${operation}" (edit ${id})`)
  const message = `the placement is at revision ${state.revision} and not ${expected} any more: ${who.join(', ') || 'the history does not say why'}. Look again, then repeat the change`
  throw new AdminError({
    code: 'conflict',
    message,
    details: { revision: state.revision, changes: since.map(({ id }) => id) },
  })
}

function refuseOrphans({ orphaned }: Impact): void {
  if (orphaned.length === 0) return
  const shown = orphaned.slice(0, MAX_NAMES).join(', ')
  const message = `no worker that has it could run ${shown} any more; \`--force\` does it all the same`
  throw new AdminError({ code: 'refused', message, details: { force: true, orphaned } })
}

/** `denied qwen3:8b on node-2, node-3; …`, equal fragments once. */
function messageOf({ said, overrides }: Draft): string {
  const groups = new Map<string, string[]>()
  for (const [worker, text] of said) {
    const key = overrides.has(worker) ? text : `no change: ${text}`
    groups.set(key, [...(groups.get(key) ?? []), worker])
  }
  const parts = [...groups].map(([text, workers]) => `${text} on ${workers.join(', ')}`)
  return parts.join('; ') || 'no change'
}

function answerOf(
  { state, fleet }: EditorDeps,
  { overrides, said, impact }: Draft,
  result: { changed: boolean; id: number | null; message: string },
): PlacementChange {
  return {
    ...result,
    revision: state.revision,
    changes: impact.changes,
    orphaned: impact.orphaned,
    refused_last_hour: impact.refusedLastHour,
    workers: [...said.keys()].flatMap((name) => {
      const override = overrides.has(name) ? overrides.get(name) : state.override(name)
      const rules = override ?? fleet.worker(name)?.config.model_placement
      if (rules === undefined) return [] // an override that is gone, of a worker that is gone
      const layer = override === undefined ? 'config' : 'override'
      return [{ worker: name, ...rulesOf(rules), layer } as const]
    }),
  }
}
