// One cell of the matrix in as many cells of the terminal as it has: a glyph, how many requests run,
// a flag. Where there is no room for both, the flag wins; of the words it is the state that is cut.

import type { Cell } from '../../gateway/contract/schema/placement.ts'
import type { WorkerRow } from '../../gateway/contract/schema/workers.ts'
import { GLYPH } from '../present/glyphs.ts'
import { presentCell } from '../present/placement.ts'
import { width } from '../present/text.ts'
import type { Span, Style } from '../theme.ts'
import type { MatrixLayout } from './matrix-layout.ts'

export interface CellLook {
  cell: Cell | undefined
  /** Requests of this model that run there now. */
  running: number
  /** A change of it is on its way. */
  pending: boolean
}

const STYLE: Readonly<Record<Cell['state'], Style>> = {
  loaded: 'good',
  installed: 'plain',
  allowed: 'dim',
  blocked: 'warn',
  unknown: 'dim',
}

const PENDING = '~'
const CONFLICT = '!'

/** Without the blank before it and without filling. `room` is at least two cells. */
export function matrixCell(
  look: CellLook,
  layout: Pick<MatrixLayout, 'density'>,
  room: number,
): Span {
  const { cell, running, pending } = look
  if (cell === undefined) return { text: '', style: 'dim' }
  const glyph = GLYPH[cell.state]
  const flag = flagOf(cell, pending)
  const count = running === 0 ? '' : running > 9 ? '+' : String(running)
  const style = styleOf(cell)
  if (layout.density === 'words') {
    const parts = [glyph, cell.state, count === '' ? '' : `${count}▶`, flag]
    const text = parts.filter((part) => part !== '').join(' ')
    if (width(text) <= room) return { text, style }
    return { text: `${glyph}${count}${flag} ${cell.state}`, style }
  }
  const text = room < 3 && flag !== '' ? glyph + flag : glyph + count + flag
  return { text, style }
}

/** A family's cell: only whether its prefix is ruled there. */
export function familyCell(worker: WorkerRow | undefined, pattern: string): Span {
  if (worker === undefined) return { text: '', style: 'dim' }
  const { allowed_models: allowed, denied_models: denied } = worker.placement
  if (denied.includes(pattern)) return { text: GLYPH.blocked + GLYPH.prefix, style: 'warn' }
  if (allowed.includes(pattern)) return { text: GLYPH.allowed + GLYPH.prefix, style: 'info' }
  return { text: '', style: 'dim' }
}

/** It should not be there, and it is. */
function isConflict(cell: Cell): boolean {
  return cell.state === 'blocked' && cell.presence === 'loaded'
}

/** In words, for the line below the matrix and for screen readers. */
export function cellInWords(cell: Cell, running: number): string {
  const words = [presentCell(cell).label]
  if (cell.state === 'blocked' && cell.presence !== 'absent' && cell.presence !== 'unknown') {
    words.push(`${cell.presence} there all the same`)
  }
  if (running > 0) words.push(`${running} running`)
  return words.join(', ')
}

function styleOf(cell: Cell): Style {
  if (cell.down) return 'dim'
  return isConflict(cell) ? 'bad' : STYLE[cell.state]
}

function flagOf(cell: Cell, pending: boolean): string {
  if (pending) return PENDING
  if (isConflict(cell)) return CONFLICT
  return cell.exact ? GLYPH.exact : ''
}
