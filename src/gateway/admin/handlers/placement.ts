// Placement over the admin socket: the matrix, why a verdict is as it is, edits, history, undo.

import { AdminError } from '../../contract/faults.ts'
import type { OverridesDocument, Why } from '../../contract/schema/placement.ts'
import type { Worker } from '../../fleet/worker.ts'
import { parseModelName, parsePattern } from '../../policy/model-name.ts'
import { whyPlacement } from '../../policy/placement.ts'
import type { Edit, Override } from '../../policy/placement-edit.ts'
import { chooseUndo } from '../../state/placement-undo.ts'
import type { Caller, Handlers } from '../handlers.ts'
import { baselineOf, runEdit, unknownWorker } from '../placement-editor.ts'
import type { ChangeOptions, EditorDeps, WorkerEdit } from '../placement-editor.ts'
import { cellOf } from '../rows/cell.ts'
import type { KnownModel } from '../rows/cell.ts'
import { knownModels } from '../rows/models.ts'
import { rulesOf } from '../rows/workers.ts'

type PlacementHandlers = Pick<Handlers, Extract<keyof Handlers, `placement.${string}`>>

const HISTORY_SHOWN = 100

export function placementHandlers(deps: EditorDeps): PlacementHandlers {
  return { ...readHandlers(deps), ...ruleHandlers(deps), ...wholeHandlers(deps) }
}

type ReadName = 'placement.show' | 'placement.why' | 'placement.export' | 'placement.history'

function readHandlers(deps: EditorDeps): Pick<PlacementHandlers, ReadName> {
  return {
    'placement.show': ({ model, worker }) => {
      const workers = workersNamed(deps, worker)
      const models = model === undefined ? knownModels(deps.fleet.workers()) : [found(deps, model)]
      return models.map((each) => ({
        model: each.name,
        cells: workers.map((on) => cellOf(on, each)),
      }))
    },
    'placement.why': ({ model, worker }) => {
      const named = findModel(deps, model)
      return workersNamed(deps, worker).map((on) => whyRow(on, named))
    },
    'placement.export': () => exportOf(deps),
    'placement.history': ({ limit = HISTORY_SHOWN }) =>
      deps.state.history().slice(-limit).toReversed(),
  }
}

type RuleName = `placement.${'allow' | 'deny' | 'clear' | 'toggle' | 'mode' | 'preset' | 'reset'}`

/** Edits that name workers and one thing to do with their rules. */
function ruleHandlers(deps: EditorDeps): Pick<PlacementHandlers, RuleName> {
  const each = (verb: string, what: string, input: { workers: string[] } & ChangeOptions) => ({
    verb,
    object: [what, ...input.workers].filter((word) => word !== '').join(' '),
    options: input,
    on: (edit: (worker: string) => Edit) => (): WorkerEdit[] =>
      input.workers.map((worker) => {
        baselineOf(deps, worker) // an unknown worker is said before anything else
        return { worker, edit: edit(worker) }
      }),
  })
  const byPattern =
    (kind: 'allow' | 'deny' | 'clear') =>
    (input: { pattern: string; workers: string[] } & ChangeOptions, caller: Caller) => {
      const { on, ...request } = each(kind, input.pattern, input)
      const edits = on(() => ({ kind, pattern: input.pattern }))
      return runEdit(deps, { ...request, edits }, caller)
    }
  return {
    'placement.allow': byPattern('allow'),
    'placement.deny': byPattern('deny'),
    'placement.clear': byPattern('clear'),
    'placement.toggle': (input, caller) => {
      const { cells } = input
      const object = cells.map(({ model, worker }) => `${model} ${worker}`).join(', ')
      const edits = (): WorkerEdit[] =>
        cells.map(({ model, worker }) => {
          baselineOf(deps, worker)
          return { worker, edit: { kind: 'toggle', model: findModel(deps, model) } }
        })
      return runEdit(deps, { verb: 'toggle', object, options: input, edits }, caller)
    },
    'placement.mode': (input, caller) => {
      const { on, ...request } = each('mode', input.mode, input)
      const edits = on(() => ({ kind: 'mode', mode: input.mode }))
      return runEdit(deps, { ...request, edits }, caller)
    },
    'placement.preset': (input, caller) => {
      const { on, ...request } = each('preset', input.preset, input)
      const edits = on((worker) => {
        return { kind: 'preset', preset: input.preset, installed: installedOn(deps, worker) }
      })
      return runEdit(deps, { ...request, edits }, caller)
    },
    'placement.reset': (input, caller) => {
      const { on, ...request } = each('reset', '', input)
      return runEdit(deps, { ...request, edits: on(() => ({ kind: 'reset' })) }, caller)
    },
  }
}

/** Edits that say what whole rule sets shall be. */
function wholeHandlers(
  deps: EditorDeps,
): Pick<PlacementHandlers, 'placement.set' | 'placement.apply' | 'placement.undo'> {
  const sets = (overrides: Readonly<OverridesDocument['overrides']>): WorkerEdit[] =>
    overrides.map(({ worker, ...rules }) => {
      baselineOf(deps, worker)
      return { worker, edit: { kind: 'set', rules } }
    })
  return {
    'placement.set': (input, caller) => {
      const object = input.overrides.map(({ worker }) => worker).join(' ')
      const edits = () => sets(onceEach(input.overrides))
      return runEdit(deps, { verb: 'set', object, options: input, edits }, caller)
    },
    'placement.apply': (input, caller) => {
      const { overrides } = input.document
      const edits = (): WorkerEdit[] => {
        const named = new Set(onceEach(overrides).map(({ worker }) => worker))
        const missing = deps.state.overrides().filter(([worker]) => !named.has(worker))
        return [
          ...sets(overrides),
          ...missing.map(([worker]) => ({ worker, edit: { kind: 'reset' } as const })),
        ]
      }
      return runEdit(deps, { verb: 'apply', object: '', options: input, edits }, caller)
    },
    'placement.undo': (input, caller) => {
      const object = input.id === undefined ? '' : String(input.id)
      const edits = () => undoOf(deps, input.id)
      return runEdit(deps, { verb: 'undo', object, options: input, edits }, caller)
    },
  }
}

function undoOf(deps: EditorDeps, id: number | undefined) {
  const choice = chooseUndo(deps.state.history(), id, (worker) => deps.state.override(worker))
  if (!choice.ok) {
    const { code, reason, by } = choice
    throw new AdminError({ code, message: reason, details: by === undefined ? {} : { by: by.id } })
  }
  const { entry } = choice
  const overrides = new Map<string, Override>(
    entry.before.map(({ worker, rules }) => [worker, rules ?? undefined]),
  )
  return { overrides, undoes: entry.id, said: `undid edit ${entry.id} (${entry.operation})` }
}

function onceEach<T extends { worker: string }>(overrides: readonly T[]): readonly T[] {
  const names = overrides.map(({ worker }) => worker)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return overrides
  const message = `worker "${twice}" is there twice; give each worker one rule set`
  throw new AdminError({ code: 'invalid_input', message })
}

function exportOf({ state }: EditorDeps): OverridesDocument {
  return {
    version: 1,
    overrides: state.overrides().map(([worker, rules]) => ({ worker, ...rulesOf(rules) })),
  }
}

function whyRow(worker: Worker, model: KnownModel): Why {
  const { allowed, decidedBy, competing } = whyPlacement(worker.placement, model.key, model)
  return {
    model: model.name,
    worker: worker.name,
    allowed,
    decided_by: decidedBy,
    layer: worker.placementLayer,
    competing: competing.map(({ pattern, effect }) => ({ pattern, verdict: effect })),
  }
}

function workersNamed({ fleet }: EditorDeps, name: string | undefined): readonly Worker[] {
  if (name === undefined) return fleet.workers()
  const worker = fleet.worker(name)
  if (worker === undefined) throw unknownWorker(fleet, name)
  return [worker]
}

/** A model by any spelling; one that no worker has is known by its name alone. */
export function findModel({ fleet }: Pick<EditorDeps, 'fleet'>, text: string): KnownModel {
  const parsed = parseModelName(text)
  if (!parsed.ok) {
    throw new AdminError({ code: 'invalid_input', message: `"${text}": ${parsed.reason}` })
  }
  const { display, key, cloud } = parsed.name
  const known = knownModels(fleet.workers()).find((model) => model.key === key)
  return known ?? { name: display, key, cloud }
}

/** The same, for what is about models that are there. */
export function found(deps: Pick<EditorDeps, 'fleet'>, text: string): KnownModel {
  const model = findModel(deps, text)
  const known = knownModels(deps.fleet.workers()).some(({ key }) => key === model.key)
  if (known) return model
  const message = `no worker has a model "${text}"; \`ogw models list\` shows what there is`
  throw new AdminError({ code: 'not_found', message, details: { model: text } })
}

function installedOn({ fleet }: EditorDeps, name: string): string[] | undefined {
  const inventory = fleet.worker(name)?.inventory
  if (inventory?.state !== 'known') return undefined
  // A name that Ollama's own rules do not allow cannot be a rule either.
  return [...inventory.models.keys()].filter((key) => parsePattern(key).ok)
}
