// Placement as operators change it while the gateway runs: overrides over the config's baseline,
// one edit at a time, each a transaction over all the workers it names.
//
// An edit is decided, written (history, then document) and only then told to the fleet. Whatever
// fails before that changes nothing.

import type { Clock } from '../clock.ts'
import { compilePlacement } from '../policy/placement.ts'
import type { CompiledPlacement, PlacementRules } from '../policy/placement.ts'
import { normalRules } from '../policy/placement-edit.ts'
import type { Override } from '../policy/placement-edit.ts'
import type { Document } from './document.ts'
import type { PlacementDocument } from './placement-document.ts'
import { openPlacementDocument } from './placement-document.ts'
import { PlacementHistory } from './placement-history.ts'
import type { HistoryEntry } from './placement-history.ts'
import type { Disk } from './disk.ts'
import { Turns } from './turns.ts'

export interface PlacementDeps {
  clock: Clock
  /** Baselines by worker, from the config that runs. */
  baselines(): ReadonlyMap<string, PlacementRules>
  /** Makes rules the ones in force; called after they are on disk, in one synchronous step. */
  place(worker: string, placement: CompiledPlacement, layer: 'config' | 'override'): void
  disk?: Disk
  /** Told what is wrong with the history file, in a sentence. */
  onHistoryTrouble?(problem: string): void
}

/** New overrides by worker; undefined removes the override. */
export type Overrides = ReadonlyMap<string, Override>

export interface Decided {
  overrides: Overrides
  /** As in `allow qwen3:8b node-2`. */
  operation: string
  undoes?: number | undefined
}

export class PlacementState {
  readonly #deps: PlacementDeps
  readonly #document: Document<PlacementDocument>
  readonly #history: PlacementHistory
  #overrides: Map<string, PlacementRules>
  readonly #edits = new Turns()

  /** Reads both files. Throws StartError where one is broken. */
  constructor(files: { document: string; history: string }, deps: PlacementDeps) {
    this.#deps = deps
    this.#document = openPlacementDocument(files.document, deps.disk)
    const { revision } = this.#document.value
    this.#history = new PlacementHistory(files.history, revision, deps.onHistoryTrouble)
    this.#overrides = byWorker(this.#document.value)
  }

  /** Grows by one with each edit, also over restarts. */
  get revision(): number {
    return this.#document.value.revision
  }

  /** Why the newest write failed. */
  get error(): string | undefined {
    return this.#document.error
  }

  /** What is wrong with the history file; the gateway runs all the same. */
  get historyTrouble(): string | undefined {
    return this.#history.trouble
  }

  override(worker: string): Override {
    return this.#overrides.get(worker)
  }

  /** Sorted by worker, those of workers that the config no longer has included. */
  overrides(): [string, PlacementRules][] {
    return [...this.#overrides].toSorted(byName)
  }

  /** Oldest first. */
  history(): readonly HistoryEntry[] {
    return this.#history.entries()
  }

  /** Tells the fleet every override; to be called after the start and after each new config. */
  placeAll(): void {
    const baselines = this.#deps.baselines()
    for (const worker of baselines.keys()) {
      if (this.#overrides.has(worker)) this.#place(worker, baselines)
    }
  }

  /**
   * One edit. `decide` sees the newest state and may throw; no other edit comes in between.
   * Resolves with the history entry, or with undefined where nothing changed.
   */
  edit<T extends Decided>(
    actor: string,
    decide: () => T,
  ): Promise<{ decided: T; entry: HistoryEntry | undefined }> {
    return this.#edits.take(() => this.#edit(actor, decide))
  }

  async #edit<T extends Decided>(actor: string, decide: () => T) {
    const decided = decide()
    const { operation, undoes = null } = decided
    if (decided.overrides.size === 0) return { decided, entry: undefined }
    const entry: HistoryEntry = {
      id: this.revision + 1,
      at: new Date(this.#deps.clock.now()).toISOString(),
      actor,
      operation,
      before: sides([...decided.overrides.keys()].map((name) => [name, this.override(name)])),
      after: sides([...decided.overrides]),
      undoes,
    }
    const next = new Map(this.#overrides)
    for (const [worker, rules] of decided.overrides) {
      if (rules === undefined) next.delete(worker)
      else next.set(worker, normalRules(rules))
    }
    await this.#history.write(entry)
    await this.#document.save({ version: 1, revision: entry.id, overrides: stored(next) })
    this.#history.commit(entry)
    this.#overrides = next
    const baselines = this.#deps.baselines()
    for (const worker of decided.overrides.keys()) this.#place(worker, baselines)
    return { decided, entry }
  }

  #place(worker: string, baselines: ReadonlyMap<string, PlacementRules>): void {
    const override = this.#overrides.get(worker)
    const rules = override ?? baselines.get(worker)
    if (rules === undefined) return // gone from the config: its override is only kept
    const layer = override === undefined ? 'config' : 'override'
    this.#deps.place(worker, compilePlacement(rules), layer)
  }
}

function sides(list: [string, Override][]): HistoryEntry['before'] {
  return list.toSorted(byName).map(([worker, rules]) => ({
    worker,
    rules: rules === undefined ? null : mutable(normalRules(rules)),
  }))
}

function byWorker({ overrides }: PlacementDocument): Map<string, PlacementRules> {
  return new Map(overrides.map(({ worker, ...rules }) => [worker, rules]))
}

function stored(overrides: ReadonlyMap<string, PlacementRules>): PlacementDocument['overrides'] {
  return [...overrides].toSorted(byName).map(([worker, rules]) => ({ worker, ...mutable(rules) }))
}

function mutable({ mode, allowed_models, denied_models }: PlacementRules) {
  return { mode, allowed_models: [...allowed_models], denied_models: [...denied_models] }
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
