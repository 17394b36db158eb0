// Models: what they can do, how much context they have three times over, where they are.

import type { EffectiveContext } from '../../gateway/contract/schema/common.ts'
import type { ModelRow } from '../../gateway/contract/schema/models.ts'
import { type FilterFields, fitsFilter, parseFilter } from '../filter.ts'
import { memoLast } from '../memo.ts'
import { modelNote } from '../present/models.ts'
import { sanitise } from '../present/text.ts'
import { bytes, contextSize, count, NONE, rate } from '../present/units.ts'
import type { UiState } from '../state.ts'
import { column, type TableColumn } from '../table.ts'
import { type Line, lineOf, span } from '../theme.ts'
import type { FleetView, Picture } from '../view.ts'
import { cornerOf, listPicture, sortRows } from './listing.ts'

export interface ModelItem {
  id: string
  row: ModelRow
}

export const MODEL_SORTS = {
  model: 'name',
  size: 'size',
  eligible: 'eligible workers',
  loaded: 'loaded copies',
  requests: 'requests of the last hour',
  context: 'context',
} as const

const CAPABILITY_LETTERS: readonly (readonly [string, string])[] = [
  ['completion', 'C'],
  ['tools', 'T'],
  ['thinking', 'K'],
  ['vision', 'V'],
  ['embedding', 'E'],
]

export const CAPABILITIES = CAPABILITY_LETTERS.map(([name]) => name)

export function modelItems(
  { models }: { models: readonly ModelRow[] },
  { screens, capability }: UiState,
): readonly ModelItem[] {
  const { filter, sort } = screens.models
  return itemsOf(models, `${capability} ${filter}`, sort.by, sort.reverse)
}

/** The first word of `wanted` is a capability, or nothing. */
const itemsOf = memoLast(
  (models: readonly ModelRow[], wanted: string, by: string, reverse: boolean) => {
    const capability = wanted.slice(0, wanted.indexOf(' '))
    const terms = parseFilter(wanted.slice(wanted.indexOf(' ') + 1))
    const items = models
      .filter((row) => capability === '' || row.capabilities?.includes(capability) === true)
      .filter((row) => fitsFilter(terms, fieldsOf(row)))
      .map((row): ModelItem => ({ id: row.model, row }))
    return sortRows(items, valueOf(by), reverse)
  },
)

function fieldsOf(row: ModelRow): FilterFields {
  return {
    text: [row.model, row.family ?? ''],
    model: [row.model],
    worker: row.copies.map(({ worker }) => worker),
    cap: row.capabilities ?? [],
    state: [
      loadedCopies(row) > 0 ? 'loaded' : '',
      row.drift ? 'drift' : '',
      row.listed ? 'listed' : 'hidden',
      row.cloud ? 'cloud' : '',
    ],
  }
}

function valueOf(by: string): ((item: ModelItem) => number | string | null) | undefined {
  switch (by) {
    case 'size':
      return ({ row }) => -(row.size_bytes ?? 0)
    case 'eligible':
      return ({ row }) => -row.eligible
    case 'loaded':
      return ({ row }) => -loadedCopies(row)
    case 'requests':
      return ({ row }) => -row.requests_last_hour
    case 'context':
      return ({ row }) => -(row.context_max ?? 0)
    default:
      return undefined
  }
}

const loadedCopies = ({ copies }: ModelRow): number => copies.filter(({ loaded }) => loaded).length

export function modelsPicture(view: FleetView): Picture {
  const items = modelItems(view.snapshot, view.ui)
  const legend = lineOf(
    ' C completion  T tools  K thinking  V vision  E embedding   - no   ????? not known yet   ! digests differ',
    'dim',
  )
  const { lines, selected, sight } = listPicture(view, {
    screen: 'models',
    rows: items,
    columns: columnsOf(view),
    height: view.layout.body - 1,
    empty: 'No worker has a model.   P pulls one',
  })
  const capability = view.ui.capability === '' ? '' : `cap ${view.ui.capability}`
  return {
    body: [...lines, legend],
    inspector: selected === undefined ? [] : inspect(selected.row),
    corner: cornerOf(view, sight, capability),
  }
}

function columnsOf({ snapshot }: FleetView): TableColumn<ModelItem>[] {
  const workers = snapshot.workers.length
  const right = 'right' as const
  const of = (id: string, header: string, width: number) => [id, header, width] as const
  return [
    column(of('model', 'MODEL', 20), ({ row }) => sanitise(row.model), {
      grows: 40,
      cut: 'middle',
    }),
    column(of('family', 'FAMILY', 8), ({ row }) => sanitise(row.family ?? NONE), { drop: 8 }),
    column(of('params', 'PARAMS', 6), ({ row }) => sanitise(row.parameters ?? NONE), {
      align: right,
      drop: 5,
    }),
    column(of('quant', 'QUANT', 7), ({ row }) => sanitise(row.quantization ?? NONE), { drop: 7 }),
    column(of('size', 'SIZE', 6), ({ row }) => bytes(row.size_bytes), { align: right }),
    column(of('context', 'CTX max/file/now', 16), ({ row }) => contextTriple(row), {
      align: right,
      drop: 6,
    }),
    column(of('caps', 'CAPS', 5), ({ row }) => capabilityLetters(row)),
    column(
      of('installed', 'INST', 6),
      ({ row }) => `${row.copies.length}/${workers}${row.drift ? '!' : ''}`,
      { align: right, style: ({ row }) => (row.drift ? 'warn' : 'plain') },
    ),
    column(of('loaded', 'LOAD', 4), ({ row }) => count(loadedCopies(row)), { align: right }),
    column(of('eligible', 'ELIG', 4), ({ row }) => count(row.eligible), {
      align: right,
      style: ({ row }) => (row.eligible === 0 ? 'warn' : 'plain'),
    }),
    column(of('requests', 'REQ/H', 5), ({ row }) => count(row.requests_last_hour), {
      align: right,
      drop: 2,
    }),
    column(of('tok', 'TOK/S', 5), ({ row }) => fastest(row), { align: right, drop: 3 }),
    column(of('client', 'CLIENT', 6), ({ row }) => (row.listed ? 'yes' : 'HIDDEN'), {
      drop: 4,
      style: ({ row }) => (row.listed ? 'dim' : 'warn'),
    }),
  ]
}

function capabilityLetters({ capabilities }: ModelRow): string {
  if (capabilities === null) return '?????'
  return CAPABILITY_LETTERS.map(([name, letter]) =>
    capabilities.includes(name) ? letter : '-',
  ).join('')
}

/** The trained maximum, what the Modelfile says, what is loaded now: three different things. */
function contextTriple(row: ModelRow): string {
  const file = row.copies.find(({ context_modelfile: one }) => one !== null)?.context_modelfile
  const now = row.copies.find(({ context_loaded: one }) => one !== null)?.context_loaded
  return `${contextSize(row.context_max)}/${contextSize(file)}/${contextSize(now)}`
}

function fastest({ copies }: ModelRow): string {
  const speeds = copies.flatMap(({ output_tokens_per_s: speed }) => speed ?? [])
  return speeds.length === 0 ? NONE : count(Math.max(...speeds))
}

/** Where a request gets less than what is loaded or declared. */
function lowered(context: EffectiveContext | null): string {
  if (context === null || context.limit === null) return ''
  return ` (${contextSize(context.tokens)} by ${sanitise(context.limit)})`
}

function inspect(row: ModelRow): Line[] {
  const installed = row.copies.map(
    ({ worker, loaded, context_loaded: context, context_effective: now }) =>
      `${sanitise(worker)}${loaded ? ` ●${contextSize(context)}` : ''}${lowered(now)}`,
  )
  const note = modelNote(row).text
  const head = `context max ${contextSize(row.context_max)}, Modelfile ${contextSize(row.copies.find((one) => one.context_modelfile !== null)?.context_modelfile)}, loaded ${contextSize(row.copies.find((one) => one.context_loaded !== null)?.context_loaded)}`
  const speeds = row.copies
    .filter(({ output_tokens_per_s: speed }) => speed !== null)
    .map(({ worker, output_tokens_per_s: speed }) => `${sanitise(worker)} ${rate(speed)}`)
  return [
    [
      span(` ${sanitise(row.model)}  `, 'bold'),
      span(`${head}${note === NONE ? '' : ` · ${note}`}`),
    ],
    lineOf(
      ` on ${installed.length === 0 ? 'no worker' : installed.join(' ')}${speeds.length === 0 ? '' : ` · learned ${speeds.join(', ')}`}`,
      'dim',
    ),
  ]
}
