// Draining, resuming, probing; everything about one worker.

import type { Console } from '../console.ts'
import { confirm, mayForce, sayBusy, sayFailure } from '../operate.ts'
import { sanitise } from '../present/text.ts'
import { presentWorker } from '../present/workers.ts'
import { lineOf } from '../theme.ts'
import { quoted } from './placement.ts'
import { openLoaded } from './models.ts'
import { factLines, sayOutcomes } from './say.ts'
import { underCursor, workerUnderCursor } from './target.ts'

export function drainOrResume(console: Console): void {
  const view = console.fleet()
  const worker = view === undefined ? undefined : workerUnderCursor(view)
  if (worker === undefined) return
  const verb = worker.draining ? 'resume' : 'drain'
  const seen = console.store.snapshot?.gateway.workers_revision ?? 0
  console.inOrder(() => drain(console, { verb, worker: worker.name, seen, force: false }))
}

interface Drain {
  verb: 'drain' | 'resume'
  worker: string
  seen: number
  force: boolean
}

async function drain(console: Console, ask: Drain): Promise<void> {
  const { verb, worker, seen, force } = ask
  const cancel = sayBusy(console, `${verb} ${worker}`)
  try {
    const outcomes = await console.admin.call(`workers.${verb}`, {
      workers: [worker],
      if_revision: Math.max(seen, console.acked.workers),
      ...(force && { force }),
    })
    if (outcomes.some(({ changed }) => changed)) {
      console.acked.workers = Math.max(seen, console.acked.workers) + 1
    }
    sayOutcomes(console, outcomes, `workers ${verb} ${quoted(worker)}`)
  } catch (error) {
    if (!mayForce(error)) {
      sayFailure(console, error)
      return
    }
    confirm(console, {
      title: `${verb} ${worker}?`,
      lines: [error.message],
      yes: `${verb} anyway`,
      onYes: () => console.inOrder(() => drain(console, { ...ask, force: true })),
    })
  } finally {
    cancel()
  }
}

export function probeWorker(console: Console): void {
  const view = console.fleet()
  const worker = view === undefined ? undefined : underCursor(view)
  if (worker === undefined) return
  void probe(console, worker)
}

async function probe(console: Console, worker: string): Promise<void> {
  const cancel = sayBusy(console, `probing ${worker}`)
  try {
    const outcomes = await console.admin.call('workers.probe', { workers: [worker] })
    sayOutcomes(console, outcomes, `workers probe ${quoted(worker)}`)
  } catch (error) {
    sayFailure(console, error)
  } finally {
    cancel()
  }
}

export function showWorker(console: Console): void {
  const view = console.fleet()
  const worker = view === undefined ? undefined : workerUnderCursor(view)
  if (worker === undefined) return
  console.admin.call('workers.show', { worker: worker.name }).then(
    (detail) =>
      console.open({
        kind: 'text',
        title: sanitise(worker.name),
        lines: factLines(presentWorker(detail)),
        top: 0,
      }),
    (error: unknown) => sayFailure(console, error),
  )
}

export function showInventory(console: Console): void {
  const view = console.fleet()
  const name = view === undefined ? undefined : underCursor(view)
  if (view === undefined || name === undefined) return
  const models = view.snapshot.models.filter(({ copies }) =>
    copies.some(({ worker }) => worker === name),
  )
  const lines = models.map(({ model, copies }) => {
    const copy = copies.find(({ worker }) => worker === name)
    return lineOf(`${copy?.loaded === true ? '●' : '✓'} ${sanitise(model)}`)
  })
  console.open({
    kind: 'text',
    title: sanitise(`models installed on ${name}`),
    lines: lines.length === 0 ? [lineOf('none, or the inventory was never read')] : lines,
    top: 0,
  })
}

/** On the workers screen: which of its models to unload, or a name to load. */
export function loadOnWorker(console: Console): void {
  const view = console.fleet()
  const worker = view === undefined ? undefined : workerUnderCursor(view)
  if (view === undefined || worker === undefined) return
  openLoaded(console, worker)
}

const CARD_VIEWS = ['auto', 'cards', 'table'] as const

export function nextCardView(console: Console): void {
  const at = CARD_VIEWS.indexOf(console.ui.cardView)
  const cardView = CARD_VIEWS[(at + 1) % CARD_VIEWS.length] ?? 'auto'
  console.update({ cardView })
  console.say(
    'note',
    `view ${cardView === 'auto' ? 'auto: cards where all of them fit' : cardView}`,
  )
}
