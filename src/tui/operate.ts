// How a change is made: the gateway says what it would do, somebody is asked only where a model
// would be left without a worker or very much would change, then it is done and said, with the
// command that does the same and the key that takes it back.

import { AdminError } from '../gateway/contract/faults.ts'
import type { CallName } from '../gateway/contract/operations.ts'
import type { InputOf, OutputOf } from '../gateway/contract/schema.ts'
import type { Console } from './console.ts'
import { sanitise } from './present/text.ts'
import { plural } from './present/units.ts'
import { type CellId, cellKey } from './state.ts'
import { type Line, lineOf } from './theme.ts'

export type PlacementChangeName = Extract<
  CallName,
  `placement.${'allow' | 'deny' | 'clear' | 'toggle' | 'mode' | 'preset' | 'set' | 'reset' | 'undo'}`
>

type Change = OutputOf<'placement.allow'>

export interface PlacementAsk<N extends PlacementChangeName> {
  name: N
  input: InputOf<N>
  /** As in `deny qwen3:8b on node-2`: the title of a question, and what is said while it lasts. */
  what: string
  /** The command that does the same, without `ogw`. */
  twin: string
  /** Cells that are drawn as on their way. */
  cells: readonly CellId[]
  /** Compared instead of what the console sees now, as for a draft that is older. */
  revision?: number
  /** Called when it was done. */
  onDone?: (change: Change) => void
}

/** More cells than that are asked for. */
const MANY_CELLS = 20
/** A change that is quicker than this says only its result. */
const BUSY_AFTER_MS = 150
const NOT_YET = Number.MAX_SAFE_INTEGER

export function changePlacement<N extends PlacementChangeName>(
  console: Console,
  ask: PlacementAsk<N>,
): void {
  const seen = ask.revision ?? console.store.snapshot?.placement.revision ?? 0
  setPending(console, ask.cells, NOT_YET)
  console.inOrder(() => attempt(console, ask, seen))
}

async function attempt<N extends PlacementChangeName>(
  console: Console,
  ask: PlacementAsk<N>,
  seen: number,
): Promise<void> {
  const revision = ask.revision ?? Math.max(seen, console.acked.placement)
  await guarded(console, ask, async () => {
    const plan = await send(console, ask, { dry_run: true, if_revision: revision })
    const orphans = plan.orphaned.length > 0
    if (!orphans && plan.changes.length <= MANY_CELLS) {
      await apply(console, ask, { if_revision: revision })
      return
    }
    confirm(console, {
      title: `${ask.what}?`,
      lines: impactInWords(plan),
      yes: `${ask.what.split(' ')[0] ?? 'do it'} anyway`,
      onCancel: () => setPending(console, ask.cells, undefined),
      onYes: () =>
        console.inOrder(() =>
          guarded(console, ask, () =>
            apply(console, ask, { if_revision: revision, force: orphans }),
          ),
        ),
    })
  })
}

async function apply<N extends PlacementChangeName>(
  console: Console,
  ask: PlacementAsk<N>,
  options: { if_revision: number; force?: boolean },
): Promise<void> {
  const done = await send(console, ask, options)
  console.acked.placement = Math.max(console.acked.placement, done.revision)
  const shown = console.store.snapshot?.placement.revision ?? 0
  setPending(console, ask.cells, done.revision > shown ? done.revision : undefined)
  ask.onDone?.(done)
  if (!done.changed) {
    console.say('note', `${done.message} · nothing changed`)
    return
  }
  console.edits += 1
  if (done.id !== null && ask.name !== 'placement.undo') {
    console.update({ undo: [...console.ui.undo, done.id] })
  }
  console.say('done', `${done.message} · rev ${done.revision} · u undo · $ ogw ${ask.twin}`)
}

async function send<N extends PlacementChangeName>(
  console: Console,
  { name, input }: PlacementAsk<N>,
  options: { if_revision: number; dry_run?: boolean; force?: boolean },
): Promise<Change> {
  const { force, ...rest } = options
  // Every change of placement takes these options and answers with a change.
  const full = { ...input, ...rest, ...(force === true && { force }) } as InputOf<N>
  return (await console.admin.call(name, full)) as Change
}

/** Says that it lasts, and says how it failed. Nothing is left on its way. */
async function guarded<N extends PlacementChangeName>(
  console: Console,
  ask: PlacementAsk<N>,
  run: () => Promise<void>,
): Promise<void> {
  const cancel = sayBusy(console, ask.what)
  try {
    await run()
  } catch (error) {
    setPending(console, ask.cells, undefined)
    sayFailure(console, error)
  } finally {
    cancel()
  }
}

export function sayBusy(console: Console, what: string): () => void {
  return console.store.clock.after(BUSY_AFTER_MS, () => console.say('busy', `${what}…`))
}

/** A change that did not happen. What somebody else did meanwhile is said by the gateway. */
export function sayFailure(console: Console, error: unknown): void {
  if (!(error instanceof AdminError)) throw error
  if (error.code === 'conflict') {
    console.say('note', `not applied: ${error.message}. Press the key again if it is still meant`)
  } else if (error.code === 'disconnected') {
    console.say('error', `${error.message}; the gateway may have done it all the same`)
  } else if (error.code === 'not_running') {
    console.say('error', 'not sent: gateway unreachable. Nothing was changed.  r retry now')
  } else {
    console.say('error', `${error.message}. Nothing was changed`)
  }
}

/** A refusal that the operator may overrule: asks, and tries again. */
export function mayForce(error: unknown): error is AdminError {
  return error instanceof AdminError && error.code === 'refused' && error.details['force'] === true
}

export interface Question {
  title: string
  lines: readonly string[]
  yes: string
  onYes(): void
  onCancel?(): void
}

export function confirm(console: Console, question: Question): void {
  const lines: Line[] = question.lines.map((text) => lineOf(sanitise(text)))
  console.open({
    kind: 'confirm',
    ...question,
    title: sanitise(question.title),
    lines,
    focus: 'cancel',
    openedMono: console.store.clock.mono(),
  })
}

function impactInWords(plan: Change): string[] {
  const lines = plan.orphaned
    .slice(0, 6)
    .map((model) => `After this, no worker that has ${model} may run it.`)
  if (plan.orphaned.length > 6) lines.push(`And ${plan.orphaned.length - 6} more models.`)
  const { refused_last_hour: refused } = plan
  if (refused > 0) lines.push(`${plural(refused, 'request')} of the last hour would be refused.`)
  return [...lines, `${plural(plan.changes.length, 'cell')} would change. Running requests finish.`]
}

function setPending(
  console: Console,
  cells: readonly CellId[],
  revision: number | undefined,
): void {
  if (cells.length === 0) return
  const pending = new Map(console.ui.matrix.pending)
  for (const cell of cells) {
    if (revision === undefined) pending.delete(cellKey(cell))
    else pending.set(cellKey(cell), revision)
  }
  console.updateMatrix({ pending })
}
