// Placement over the admin socket: the matrix, verdicts with their reasons, edits, history.

import { z } from 'zod'
import { changeOf, ModelName, Nothing, PlacementRules } from './common.ts'
import { queryInt, WallTime, WorkerName, WorkerNames } from './common.ts'

/** What one cell of the matrix says. */
export const CellState = z.enum(['loaded', 'installed', 'allowed', 'blocked', 'unknown'])
export type CellState = z.infer<typeof CellState>

export const Cell = z.object({
  worker: z.string(),
  /** `unknown` = allowed, but the inventory of the worker was never read. */
  state: CellState,
  /** An exact rule decided: `↳`. */
  exact: z.boolean(),
  /** What is there whatever placement says: a blocked model may still be loaded. */
  presence: z.enum(['loaded', 'installed', 'absent', 'unknown']),
  /** The worker is down; the cell is what was last known. */
  down: z.boolean(),
})
export type Cell = z.infer<typeof Cell>

export const MatrixRow = z.object({ model: z.string(), cells: z.array(Cell) })
export type MatrixRow = z.infer<typeof MatrixRow>

export const DecidedBy = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('exact'), pattern: z.string() }),
  z.object({ kind: z.literal('prefix'), pattern: z.string() }),
  z.object({ kind: z.literal('mode'), mode: z.enum(['allow_all', 'whitelist']) }),
  /** A model of Ollama's cloud, which only an exact allow rule opens. */
  z.object({ kind: z.literal('cloud') }),
])

export const Why = z.object({
  model: z.string(),
  worker: z.string(),
  allowed: z.boolean(),
  decided_by: DecidedBy,
  layer: z.enum(['config', 'override']),
  /** Rules that match too and lost, the most specific first. */
  competing: z.array(z.object({ pattern: z.string(), verdict: z.enum(['allow', 'deny']) })),
})
export type Why = z.infer<typeof Why>

/** What an edit does to the fleet. */
export const Plan = z.object({
  changes: z.array(
    z.object({
      model: z.string(),
      worker: z.string(),
      before: CellState,
      after: CellState,
    }),
  ),
  /** Models that some worker has and that no worker could run any more. */
  orphaned: z.array(z.string()),
  /** Requests of the last hour that would be refused. */
  refused_last_hour: z.int(),
})
export type Plan = z.infer<typeof Plan>

export const WorkerRules = PlacementRules.extend({ worker: z.string() })
export type WorkerRules = z.infer<typeof WorkerRules>

/** The answer of every placement change; a dry run has the same plan and no id. */
export const PlacementChange = Plan.extend({
  /** False where everything was so already; for a dry run: whether it would change something. */
  changed: z.boolean(),
  /** History entry of this edit; null for a dry run and where nothing changed. */
  id: z.int().nullable(),
  /** Of the placement document after the edit. */
  revision: z.int(),
  /** The rules of each edited worker after the edit, and the layer they are in. */
  workers: z.array(WorkerRules.extend({ layer: z.enum(['config', 'override']) })),
  /** One sentence for a person, also where nothing changed. */
  message: z.string(),
})
export type PlacementChange = z.infer<typeof PlacementChange>

/** The document that `export` writes and `apply` reads; sorted by worker. */
export const OverridesDocument = z.object({
  version: z.literal(1),
  overrides: z.array(WorkerRules),
})
export type OverridesDocument = z.infer<typeof OverridesDocument>

/** The rules of one worker before or after an edit; `rules` null = no override, the config holds. */
export const WorkerOverride = z.object({ worker: z.string(), rules: PlacementRules.nullable() })
export type WorkerOverride = z.infer<typeof WorkerOverride>

export const HistoryEntry = z.object({
  /** Also the revision that the edit made. */
  id: z.int(),
  at: WallTime,
  actor: z.string(),
  /** As in `allow qwen3:8b node-2`. */
  operation: z.string(),
  before: z.array(WorkerOverride),
  after: z.array(WorkerOverride),
  /** The entry that this edit undid, null where it is no undo. */
  undoes: z.int().nullable(),
})
export type HistoryEntry = z.infer<typeof HistoryEntry>

const ByPattern = changeOf({ pattern: ModelName, workers: WorkerNames })
const StrictRules = z.strictObject(WorkerRules.shape)

export const placementShapes = {
  'placement.show': {
    input: z.strictObject({ model: ModelName.optional(), worker: WorkerName.optional() }),
    output: z.array(MatrixRow),
  },
  'placement.why': {
    input: z.strictObject({ model: ModelName, worker: WorkerName.optional() }),
    output: z.array(Why),
  },
  'placement.allow': { input: ByPattern, output: PlacementChange },
  'placement.deny': { input: ByPattern, output: PlacementChange },
  'placement.clear': { input: ByPattern, output: PlacementChange },
  'placement.toggle': {
    input: changeOf({
      cells: z
        .array(z.strictObject({ model: ModelName, worker: WorkerName }))
        .min(1)
        .max(10_000),
    }),
    output: PlacementChange,
  },
  'placement.mode': {
    input: changeOf({ workers: WorkerNames, mode: z.enum(['allow_all', 'whitelist']) }),
    output: PlacementChange,
  },
  'placement.preset': {
    input: changeOf({
      workers: WorkerNames,
      preset: z.enum(['only-installed', 'block-all', 'allow-all']),
    }),
    output: PlacementChange,
  },
  'placement.set': {
    input: changeOf({ overrides: z.array(StrictRules).min(1).max(1000) }),
    output: PlacementChange,
  },
  'placement.reset': { input: changeOf({ workers: WorkerNames }), output: PlacementChange },
  'placement.export': { input: Nothing, output: OverridesDocument },
  'placement.apply': {
    input: changeOf({
      document: z.strictObject({
        version: z.literal(1),
        overrides: z.array(StrictRules).max(1000),
      }),
    }),
    output: PlacementChange,
  },
  'placement.history': {
    input: z.strictObject({ limit: queryInt(1, 1000).optional() }),
    output: z.array(HistoryEntry),
  },
  'placement.undo': {
    input: changeOf({ id: z.int().min(1).optional() }),
    output: PlacementChange,
  },
}
