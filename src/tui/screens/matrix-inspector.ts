// The two lines below the matrix: what is under the cursor, and why it is so.

import type { ModelRow } from '../../gateway/contract/schema/models.ts'
import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { rulesAbout } from '../present/rules.ts'
import { sanitise } from '../present/text.ts'
import { bytes, contextSize, plural, rate } from '../present/units.ts'
import { type Line, lineOf, span } from '../theme.ts'
import type { FleetView } from '../view.ts'
import { cellInWords } from './matrix-cell.ts'
import { cellOn, type MatrixFrame, runningOn } from './matrix-frame.ts'
import type { MatrixItem } from './matrix-items.ts'

export function inspectorLines(view: FleetView, frame: MatrixFrame): Line[] {
  const item = frame.items[frame.row]
  const worker = frame.columns[frame.column]
  if (item === undefined || worker === undefined) return []
  if (item.kind === 'family') return inspectFamily(item, worker)
  const cell = cellOn(item.row, worker)
  if (cell === undefined) return []
  const runs = runningOn(view.snapshot, worker.name, item.id)
  const verdict = cell.state === 'blocked' ? 'BLOCKED' : 'allowed'
  return [
    [
      span(` ${sanitise(item.id)} @ ${sanitise(worker.name)}  `, 'bold'),
      span(`${verdict}: ${rulesInWords(worker, item.id)} · ${cellInWords(cell, runs)}`, 'plain'),
    ],
    lineOf(` ${copyInWords(item.row, worker.name)} · ${othersInWords(view, item.row)}`, 'dim'),
  ]
}

function inspectFamily(item: Extract<MatrixItem, { kind: 'family' }>, worker: WorkerRow): Line[] {
  const loaded = item.models.filter(({ copies }) => copies.some((copy) => copy.loaded)).length
  return [
    [
      span(` ${sanitise(item.pattern)} @ ${sanitise(worker.name)}  `, 'bold'),
      span(`${plural(item.models.length, 'model')}, ${loaded} loaded somewhere`, 'plain'),
    ],
    lineOf(' a and d make a rule of this prefix, z folds', 'dim'),
  ]
}

/** The rule that matches most closely, then those it beats, then the mode. */
function rulesInWords({ placement }: WorkerRow, model: string): string {
  const rules = rulesAbout(placement, model).map(
    ({ kind, verdict, pattern }) => `${kind} ${verdict} ${pattern}`,
  )
  const layer = placement.layer === 'override' ? 'override' : 'config'
  return [...rules, `mode ${placement.mode} (${layer})`].map(sanitise).join(' > ')
}

function copyInWords(row: ModelRow, worker: string): string {
  const copy = row.copies.find((one) => one.worker === worker)
  if (copy === undefined) return 'not installed there'
  const speed =
    copy.output_tokens_per_s === null ? '' : `, learned ${rate(copy.output_tokens_per_s)}`
  const context =
    copy.context_loaded === null ? '' : `, context ${contextSize(copy.context_loaded)}`
  return `${copy.loaded ? 'loaded' : 'installed'} ${bytes(copy.size_bytes)}${context}${speed}`
}

function othersInWords(view: FleetView, row: ModelRow): string {
  const takes = new Set(view.snapshot.workers.filter(takesRequests).map(({ name }) => name))
  const names = row.cells
    .filter(
      ({ state, worker }) => takes.has(worker) && (state === 'loaded' || state === 'installed'),
    )
    .map(({ worker, state }) => `${sanitise(worker)}${state === 'loaded' ? ' ●' : ''}`)
  const on = names.length === 0 ? 'allowed and installed nowhere' : `can run on ${names.join(' ')}`
  return `${row.eligible} of ${view.snapshot.workers.length} eligible: ${on}`
}

const takesRequests = ({ health, draining, breaker }: WorkerRow): boolean =>
  health === 'up' && !draining && breaker.state === 'closed'
