// Rows and columns of the matrix as the operator chose them: filtered, sorted, grouped by family,
// folded. Families are rows of their own, because a prefix rule is made on them.

import type { ModelRow } from '../../gateway/contract/schema/models.ts'
import type { Snapshot } from '../../gateway/contract/schema/snapshot.ts'
import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { type FilterFields, fitsFilter, parseFilter } from '../filter.ts'
import { memoLast } from '../memo.ts'
import type { MatrixState, UiState } from '../state.ts'

export type MatrixItem =
  | { kind: 'family'; id: string; pattern: string; models: readonly ModelRow[]; folded: boolean }
  | { kind: 'model'; id: string; row: ModelRow; indented: boolean }

export const MATRIX_SORTS = {
  model: 'name, by family',
  eligible: 'eligible workers',
  requests: 'requests of the last hour',
  loaded: 'workers that have it loaded',
} as const

export function matrixItems(snapshot: Snapshot, { screens, matrix }: UiState): MatrixItem[] {
  const { filter, sort } = screens.placement
  return itemsOf(
    snapshot,
    filter,
    `${sort.by} ${sort.reverse}`,
    foldsOf(matrix.folds, matrix.foldAll),
  )
}

/** One object as long as both stay, so that it can be compared. */
const foldsOf = memoLast((folds: MatrixState['folds'], foldAll: boolean) => ({ folds, foldAll }))

const itemsOf = memoLast(
  (
    snapshot: Snapshot,
    filter: string,
    sort: string,
    { folds, foldAll }: Pick<MatrixState, 'folds' | 'foldAll'>,
  ): MatrixItem[] => {
    const terms = parseFilter(filter)
    const shown = snapshot.models.filter((row) => fitsFilter(terms, matrixFields(row)))
    const [by = 'model', reverse] = sort.split(' ')
    if (by !== 'model') return sorted(shown, by, reverse === 'true').map((row) => item(row, false))
    const groups = familiesOf(shown, ruledPrefixes(snapshot))
    const ordered = reverse === 'true' ? groups.toReversed() : groups
    return ordered.flatMap((group) => itemsOfGroup(group, terms.length === 0, { folds, foldAll }))
  },
)

interface Group {
  pattern: string
  models: ModelRow[]
  /** Drawn as a family with its own row. */
  headed: boolean
}

/** Models of one family stand together; a lone model needs no heading but where its prefix is ruled. */
function familiesOf(models: readonly ModelRow[], ruled: ReadonlySet<string>): Group[] {
  const groups = new Map<string, ModelRow[]>()
  for (const row of models) {
    const pattern = familyOf(row.model)
    const group = groups.get(pattern)
    if (group === undefined) groups.set(pattern, [row])
    else group.push(row)
  }
  return [...groups].map(([pattern, rows]) => ({
    pattern,
    models: rows,
    headed: rows.length > 1 || ruled.has(pattern),
  }))
}

/** `qwen3:*` of `qwen3:8b`, `orcarouter/*` of `orcarouter/coder:14b`. */
export function familyOf(model: string): string {
  const slash = model.lastIndexOf('/')
  if (slash > 0) return `${model.slice(0, slash + 1).toLowerCase()}*`
  const colon = model.indexOf(':')
  return `${(colon === -1 ? model : model.slice(0, colon)).toLowerCase()}:*`
}

function itemsOfGroup(
  { pattern, models, headed }: Group,
  foldable: boolean,
  { folds, foldAll }: Pick<MatrixState, 'folds' | 'foldAll'>,
): MatrixItem[] {
  if (!headed) return models.map((row) => item(row, false))
  const folded = foldable && (folds.get(pattern) ?? foldAll)
  const head: MatrixItem = { kind: 'family', id: pattern, pattern, models, folded }
  return folded ? [head] : [head, ...models.map((row) => item(row, true))]
}

const item = (row: ModelRow, indented: boolean): MatrixItem => ({
  kind: 'model',
  id: row.model,
  row,
  indented,
})

function ruledPrefixes({ workers }: Snapshot): ReadonlySet<string> {
  return new Set(
    workers.flatMap(({ placement }) =>
      [...placement.allowed_models, ...placement.denied_models].filter((one) => one.endsWith('*')),
    ),
  )
}

function matrixFields(row: ModelRow): FilterFields {
  return {
    text: [row.model],
    model: [row.model],
    worker: row.copies.map(({ worker }) => worker),
    state: row.cells.map(({ state }) => state),
    cap: row.capabilities ?? [],
  }
}

function sorted(rows: readonly ModelRow[], by: string, reverse: boolean): ModelRow[] {
  const value = (row: ModelRow): number => {
    if (by === 'eligible') return row.eligible
    if (by === 'requests') return row.requests_last_hour
    return row.copies.filter(({ loaded }) => loaded).length
  }
  const ordered = rows.toSorted((a, b) => value(b) - value(a))
  return reverse ? ordered.toReversed() : ordered
}

/** The workers that are columns: frozen ones first, the others in config order. */
export function matrixColumns(snapshot: Snapshot, { matrix }: UiState): WorkerRow[] {
  return columnsOf(snapshot.workers, matrix.workerFilter, matrix.frozen)
}

const columnsOf = memoLast(
  (workers: readonly WorkerRow[], filter: string, frozen: readonly string[]): WorkerRow[] => {
    const terms = parseFilter(filter)
    const shown = workers.filter(({ name, health, draining }) =>
      fitsFilter(terms, {
        text: [name],
        worker: [name],
        state: [health, draining ? 'draining' : ''],
      }),
    )
    const first = shown.filter(({ name }) => frozen.includes(name))
    return [...first, ...shown.filter(({ name }) => !frozen.includes(name))]
  },
)
