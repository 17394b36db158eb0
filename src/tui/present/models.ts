// Models as rows of a table, and the copies of one model.

import type { EffectiveContext } from '../../gateway/contract/schema/common.ts'
import type { ModelRow, PullProgress } from '../../gateway/contract/schema/models.ts'
import { type Cell, cell, foreign, type TableView } from './cell.ts'
import { fit, sanitise } from './text.ts'
import { age, bytes, contextSize, NONE, percent, rate } from './units.ts'

export function presentModels(rows: readonly ModelRow[]): TableView {
  return {
    columns: [
      { header: 'MODEL', cut: 'middle' },
      { header: 'SIZE', align: 'right' },
      { header: 'PARAMS', align: 'right' },
      { header: 'QUANT' },
      { header: 'CONTEXT', align: 'right' },
      { header: 'CAPABILITIES', cut: 'end' },
      { header: 'INSTALLED', align: 'right' },
      { header: 'LOADED', align: 'right' },
      { header: 'ELIGIBLE', align: 'right' },
      { header: 'NOTE' },
    ],
    rows: rows.map((row) => [
      foreign(row.model),
      cell(bytes(row.size_bytes)),
      foreign(row.parameters),
      foreign(row.quantization),
      cell(contextSize(row.context_max)),
      row.capabilities === null ? cell('?', 'dim') : foreign(row.capabilities.join(',')),
      cell(`${row.copies.length}/${row.cells.length}`),
      cell(String(row.copies.filter(({ loaded }) => loaded).length)),
      cell(String(row.eligible), row.eligible === 0 ? 'warn' : 'plain'),
      modelNote(row),
    ]),
  }
}

/** What is unusual about a model: copies that differ, a cloud stub, hidden from clients. */
export function modelNote(row: ModelRow): Cell {
  const notes: string[] = []
  if (row.drift) notes.push('digests differ')
  if (row.cloud) notes.push('cloud')
  if (!row.listed) notes.push('hidden from clients')
  return notes.length === 0 ? cell(NONE, 'dim') : cell(notes.join(', '), 'warn')
}

export function presentModel(row: ModelRow): [string, Cell][] {
  const facts: [string, Cell][] = [
    ['model', foreign(row.model)],
    ['family', foreign(row.family)],
    ['parameters', foreign(row.parameters)],
    ['quantization', foreign(row.quantization)],
    ['size', cell(bytes(row.size_bytes))],
    ['context', cell(row.context_max === null ? NONE : `at most ${contextSize(row.context_max)}`)],
    [
      'capabilities',
      foreign(row.capabilities === null ? 'not known yet' : row.capabilities.join(', ')),
    ],
    ['eligible', cell(`${row.eligible} of ${row.cells.length} workers`)],
    ['last hour', cell(`${row.requests_last_hour} requests`)],
    ['note', modelNote(row)],
  ]
  return facts.filter(([, { text }]) => text !== NONE)
}

/** One row per copy. Digests that the majority does not have are marked. */
export function presentCopies(row: ModelRow, now: number): TableView {
  const usual = mostCommon(row.copies.map(({ digest }) => digest))
  return {
    columns: [
      { header: 'WORKER' },
      { header: 'DIGEST' },
      { header: 'SIZE', align: 'right' },
      { header: 'AGE', align: 'right' },
      { header: 'LOADED', align: 'right' },
      { header: 'MODELFILE', align: 'right' },
      { header: 'CONTEXT NOW', cut: 'end' },
      { header: 'RATE', align: 'right' },
      { header: 'LIMIT', align: 'right' },
    ],
    rows: row.copies.map((copy) => [
      foreign(copy.worker),
      foreign(shortDigest(copy.digest), row.drift && copy.digest !== usual ? 'warn' : 'plain'),
      cell(bytes(copy.size_bytes)),
      cell(age(copy.modified_at, now)),
      copy.loaded ? cell(loadedWith(copy.context_loaded), 'good') : cell('no', 'dim'),
      cell(contextSize(copy.context_modelfile)),
      cell(contextInWords(copy.context_effective)),
      cell(rate(copy.output_tokens_per_s)),
      cell(String(copy.limit)),
    ]),
  }
}

const loadedWith = (context: number | null): string =>
  context === null ? 'yes' : contextSize(context)

/** What a request gets, whose number that is, and what lowers it. */
export function contextInWords(context: EffectiveContext | null): string {
  if (context === null) return NONE
  const { tokens, source, limit } = context
  const by = limit === null ? '' : `, limited by ${limit === 'model' ? 'the model' : limit}`
  return `${contextSize(tokens)} ${SOURCES[source]}${by}`
}

const SOURCES: Readonly<Record<EffectiveContext['source'], string>> = {
  num_ctx: 'asked for',
  loaded: 'as loaded',
  modelfile: 'by its Modelfile',
  worker: 'by default_context_tokens',
  guess: 'as a guess',
}

const shortDigest = (digest: string): string => digest.replace(/^sha256:/, '').slice(0, 12)

function mostCommon(values: readonly string[]): string | undefined {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0]
}

const BAR_CELLS = 20

/** The progress of one worker in one line: name, bar, share, bytes, what it does. */
export function presentPull(progress: PullProgress, nameCells: number): string {
  const { completed_bytes: done, total_bytes: total } = progress
  const share =
    done === null || total === null || total === 0 ? undefined : Math.min(1, done / total)
  const name = fit(sanitise(progress.worker), nameCells)
  const status = sanitise(progress.error === null ? progress.status : `failed: ${progress.error}`)
  if (progress.done || share === undefined) return `${name}   ${status}`
  const filled = Math.round(share * BAR_CELLS)
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_CELLS - filled)
  return `${name}   ${bar} ${percent(share).padStart(4)}   ${bytes(done)} of ${bytes(total)}   ${status}`
}
