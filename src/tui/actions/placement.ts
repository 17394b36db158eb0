// Changes of placement from the matrix.

import type { OutputOf } from '../../gateway/contract/schema.ts'
import type { Console } from '../console.ts'
import { changePlacement } from '../operate.ts'
import { decidedBy } from '../present/placement.ts'
import { patternFits } from '../present/rules.ts'
import { sanitise } from '../present/text.ts'
import { plural } from '../present/units.ts'
import { familyOf } from '../screens/matrix-items.ts'
import { matrixFrame } from '../screens/matrix-frame.ts'
import { type CellId, cellKey } from '../state.ts'
import { type Line, lineOf, span } from '../theme.ts'
import type { FleetView } from '../view.ts'
import { sayFailure } from '../operate.ts'
import { cellUnderCursor, itemUnderCursor, workerUnderCursor } from './target.ts'

type Verdict = 'allow' | 'deny' | 'clear'

export function toggleCell(console: Console): void {
  const view = console.fleet()
  if (view === undefined) return
  const cells = targets(view)
  const [first] = cells
  if (first === undefined) return
  const what =
    cells.length === 1 ? `toggle ${where(first)}` : `toggle ${plural(cells.length, 'cell')}`
  changePlacement(console, {
    name: 'placement.toggle',
    input: { cells },
    what,
    twin: twinOfToggle(view, first),
    cells,
  })
  clearMarks(console)
}

/** Allows, denies or clears the marked cells, else the cell or the family under the cursor. */
export function setVerdict(console: Console, verdict: Verdict): void {
  const view = console.fleet()
  if (view === undefined) return
  const cells = targets(view)
  if (view.ui.matrix.marks.size > 0 && cells.length > 1) {
    setMany(console, verdict, cells)
    return
  }
  const item = itemUnderCursor(view)
  const worker = workerUnderCursor(view)
  if (item === undefined || worker === undefined) return
  setPattern(console, { verdict, pattern: item.id, worker: worker.name })
}

/** Asks for a prefix, with the family of the model already typed. */
export function askPrefix(console: Console, verdict: 'allow' | 'deny'): void {
  const view = console.fleet()
  const item = view === undefined ? undefined : itemUnderCursor(view)
  const worker = view === undefined ? undefined : workerUnderCursor(view)
  if (view === undefined || item === undefined || worker === undefined) return
  const hint = (pattern: string): string => {
    const hits = view.snapshot.models.filter(({ model }) =>
      patternFits(pattern.trim(), model),
    ).length
    return `matches ${plural(hits, 'model')} · Enter ${verdict === 'allow' ? 'allows' : 'denies'} on ${sanitise(worker.name)}`
  }
  const text = item.kind === 'family' ? item.pattern : familyOf(item.id)
  console.ask({
    kind: 'text',
    label: `${verdict} `,
    text,
    hint: hint(text),
    onChange: (typed) => {
      const { prompt } = console.ui
      if (prompt !== undefined) console.update({ prompt: { ...prompt, hint: hint(typed) } })
    },
    onSubmit: (typed) => {
      const pattern = typed.trim()
      if (pattern !== '') setPattern(console, { verdict, pattern, worker: worker.name })
    },
  })
}

function setPattern(
  console: Console,
  { verdict, pattern, worker }: { verdict: Verdict; pattern: string; worker: string },
): void {
  changePlacement(console, {
    name: `placement.${verdict}`,
    input: { pattern, workers: [worker] },
    what: `${verdict} ${pattern} on ${worker}`,
    twin: `placement ${verdict} ${quoted(pattern)} ${quoted(worker)}`,
    cells: [{ model: pattern, worker }],
  })
}

/** Marked cells are one edit, one entry of the history, one undo. */
function setMany(console: Console, verdict: Verdict, cells: readonly CellId[]): void {
  const view = console.fleet()
  if (view === undefined) return
  const byWorker = Map.groupBy(cells, ({ worker }) => worker)
  const overrides = [...byWorker].flatMap(([worker, marked]) => {
    const placement = view.snapshot.workers.find(({ name }) => name === worker)?.placement
    if (placement === undefined) return []
    const models = new Set(marked.map(({ model }) => model.toLowerCase()))
    const without = (rules: readonly string[]): string[] => rules.filter((one) => !models.has(one))
    return [
      {
        worker,
        mode: placement.mode,
        allowed_models: [
          ...without(placement.allowed_models),
          ...(verdict === 'allow' ? models : []),
        ],
        denied_models: [...without(placement.denied_models), ...(verdict === 'deny' ? models : [])],
      },
    ]
  })
  changePlacement(console, {
    name: 'placement.set',
    input: { overrides },
    what: `${verdict} ${plural(cells.length, 'cell')} on ${plural(byWorker.size, 'worker')}`,
    twin: `placement ${verdict} MODEL ${[...byWorker.keys()].map(quoted).join(' ')}`,
    cells,
  })
  clearMarks(console)
}

export function showWhy(console: Console): void {
  const view = console.fleet()
  const target = view === undefined ? undefined : cellUnderCursor(view)
  if (target === undefined) return
  const { row, worker, cell } = target
  console.admin.call('placement.why', { model: row.model, worker: worker.name }).then(
    ([why]) => {
      if (why === undefined) return
      console.open({
        kind: 'text',
        title: sanitise(
          `why is ${row.model} ${why.allowed ? 'allowed' : 'blocked'} on ${worker.name}?`,
        ),
        lines: [...whyLines(why), [], ...gateLines(target)],
        top: 0,
        hint: cell.exact ? 'x removes the exact rule · ' : '',
        keys: cell.exact ? { x: () => clearHere(console, target) } : {},
      })
    },
    (error: unknown) => sayFailure(console, error),
  )
}

function clearHere(console: Console, { row, worker }: Target): void {
  const view = console.view()
  if (view.readOnly || view.feed.link.kind !== 'live') {
    console.say('note', 'not sent: this console only reads, or the gateway is unreachable')
    return
  }
  setPattern(console, { verdict: 'clear', pattern: row.model, worker: worker.name })
}

type Target = NonNullable<ReturnType<typeof cellUnderCursor>>

function whyLines(why: OutputOf<'placement.why'>[number]): Line[] {
  const decides: Line = [
    span('> ', 'bold'),
    span(sanitise(decidedBy(why)), 'bold'),
    span(`   ${why.layer}   DECIDES`, why.allowed ? 'good' : 'warn'),
  ]
  const lost = why.competing.map(({ verdict, pattern }) =>
    lineOf(`  ${verdict} ${sanitise(pattern)}   less specific, or a tie that deny won`, 'dim'),
  )
  return [decides, ...lost]
}

/** Placement is only the first gate; these are what the others would see. */
function gateLines({ row, worker, cell }: Target): Line[] {
  const yes = (value: boolean): string => (value ? 'yes' : 'no')
  const { used, limit } = worker.slots
  return [
    lineOf('then a request would also need'),
    lineOf(
      `  installed ${cell.presence === 'unknown' ? 'not known' : yes(cell.presence !== 'absent')} · up ${yes(worker.health === 'up')} · draining ${yes(worker.draining)} · breaker ${worker.breaker.state.replace('_', ' ')} · slots ${used}/${limit}`,
    ),
    lineOf(`  now eligible for ${sanitise(row.model)}: ${plural(row.eligible, 'worker')}`, 'dim'),
  ]
}

export function markOne(console: Console): void {
  const view = console.fleet()
  const target = view === undefined ? undefined : cellUnderCursor(view)
  if (target === undefined) return
  const key = cellKey({ model: target.row.model, worker: target.worker.name })
  const marks = new Set(console.ui.matrix.marks)
  if (!marks.delete(key)) marks.add(key)
  console.updateMatrix({ marks, anchor: undefined })
}

export function markRange(console: Console): void {
  const view = console.fleet()
  const target = view === undefined ? undefined : cellUnderCursor(view)
  if (target === undefined) return
  if (console.ui.matrix.anchor !== undefined) {
    console.updateMatrix({ anchor: undefined })
    return
  }
  const anchor = { model: target.row.model, worker: target.worker.name }
  console.updateMatrix({ anchor, marks: new Set([cellKey(anchor)]) })
  console.say('note', 'range: move, then a d x or Space; v ends it, Esc forgets it')
}

function clearMarks(console: Console): void {
  console.updateMatrix({ marks: new Set(), anchor: undefined })
}

/** The marked cells, else the one under the cursor. */
function targets(view: FleetView): CellId[] {
  const { marks } = view.ui.matrix
  if (marks.size > 0) {
    return [...marks].map((key) => {
      const at = key.indexOf('\n')
      return { model: key.slice(0, at), worker: key.slice(at + 1) }
    })
  }
  const target = cellUnderCursor(view)
  return target === undefined ? [] : [{ model: target.row.model, worker: target.worker.name }]
}

function twinOfToggle(view: FleetView, { model, worker }: CellId): string {
  const target = cellUnderCursor(view)
  const exact = target?.cell.exact === true
  const verb = exact ? 'clear' : target?.cell.state === 'blocked' ? 'allow' : 'deny'
  return `placement ${verb} ${quoted(model)} ${quoted(worker)}`
}

const where = ({ model, worker }: CellId): string => `${model} on ${worker}`

/** For a shell: a star would match files. */
export function quoted(word: string): string {
  return /^[\w.:/@+-]+$/.test(word) ? word : `"${word}"`
}

export function toggleFold(console: Console): void {
  const view = console.fleet()
  const item = view === undefined ? undefined : itemUnderCursor(view)
  if (view === undefined || item === undefined) return
  const pattern = item.kind === 'family' ? item.pattern : familyOf(item.id)
  const folded = !(console.ui.matrix.folds.get(pattern) ?? console.ui.matrix.foldAll)
  console.updateMatrix({ folds: new Map([...console.ui.matrix.folds, [pattern, folded]]) })
  if (folded) console.updateScreen({ row: pattern })
}

const DENSITIES = ['auto', 'words', 'wide', 'compact'] as const

export function nextDensity(console: Console): void {
  const at = DENSITIES.indexOf(console.ui.matrix.density)
  const density = DENSITIES[(at + 1) % DENSITIES.length] ?? 'auto'
  console.updateMatrix({ density })
  console.say('note', `density ${density}`)
}

export function freezeColumn(console: Console): void {
  const view = console.fleet()
  const worker = view === undefined ? undefined : workerUnderCursor(view)
  if (view === undefined || worker === undefined) return
  const { frozen } = console.ui.matrix
  const rest = frozen.filter((name) => name !== worker.name)
  const isFrozen = rest.length < frozen.length
  console.updateMatrix({ frozen: isFrozen ? rest : [...frozen, worker.name] })
  const { columns } = matrixFrame(console.fleet() ?? view)
  console.updateMatrix({ columnIndex: columns.findIndex(({ name }) => name === worker.name) })
}
