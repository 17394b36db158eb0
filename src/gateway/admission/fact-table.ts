// Keeps what is known of each model on each worker until the worker's record changes. A decision
// over hundreds of workers then reads one list instead of asking five maps of each of them.

import { modelFactsOf, sameFacts } from '../policy/model-facts.ts'
import type { ModelFacts } from '../policy/model-facts.ts'
import type { ModelName } from '../policy/model-name.ts'
import type { Row } from './fleet-rows.ts'

/** Models whose facts are kept; the one that was first asked for goes first. */
const MAX_MODELS = 4_096

interface Column {
  facts: ModelFacts[]
  /** The version of each row when its facts were gathered. */
  versions: Float64Array
}

export class FactTable {
  #rows: readonly Row[] = []
  readonly #columns = new Map<string, Column>()

  /** One entry a row, in the order of the rows; valid until the next change of the fleet. */
  factsOf(rows: readonly Row[], model: ModelName): readonly ModelFacts[] {
    if (rows !== this.#rows) {
      this.#rows = rows
      this.#columns.clear()
    }
    const column = this.#columns.get(model.key) ?? this.#newColumn(model.key, rows.length)
    const { facts, versions } = column
    for (let i = 0; i < rows.length; i += 1) {
      const row = rows[i]
      if (row === undefined || versions[i] === row.version) continue
      const fresh = modelFactsOf(row.worker, model)
      const before = facts[i - 1]
      facts[i] = before !== undefined && sameFacts(before, fresh) ? before : fresh
      versions[i] = row.version
    }
    return facts
  }

  #newColumn(key: string, rows: number): Column {
    if (this.#columns.size >= MAX_MODELS) {
      const oldest = this.#columns.keys().next()
      if (oldest.done !== true) this.#columns.delete(oldest.value)
    }
    const column: Column = { facts: [], versions: new Float64Array(rows) }
    this.#columns.set(key, column)
    return column
  }
}
