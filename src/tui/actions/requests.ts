// One request: what was decided for it, and its end.

import type { Console } from '../console.ts'
import { confirm, sayBusy, sayFailure } from '../operate.ts'
import { presentDecision, presentRequest } from '../present/requests.ts'
import { sanitise } from '../present/text.ts'
import { PHASES } from '../screens/requests.ts'
import { type Line, lineOf } from '../theme.ts'
import { tableLines } from '../table-text.ts'
import { openMenu } from './models.ts'
import { quoted } from './placement.ts'
import { goToScreen } from './screens.ts'
import { modelUnderCursor, underCursor } from './target.ts'
import { factLines } from './say.ts'

export function showRequest(console: Console): void {
  const view = console.fleet()
  const id = view === undefined ? undefined : underCursor(view)
  if (id === undefined) return
  console.admin.call('requests.show', { id }).then(
    (detail) => {
      const decisions = detail.decisions.flatMap((decision): Line[] => [
        [],
        lineOf(
          `${decision.outcome}${decision.worker === null ? '' : ` to ${sanitise(decision.worker)}`}`,
          'bold',
        ),
        ...tableLines(presentDecision(decision)),
      ])
      console.open({
        kind: 'text',
        title: sanitise(`request ${id}`),
        lines: [...factLines(presentRequest(detail)), ...decisions],
        top: 0,
        hint: `$ ogw requests show ${sanitise(quoted(id))} · `,
      })
    },
    (error: unknown) => sayFailure(console, error),
  )
}

export function cancelRequest(console: Console): void {
  const view = console.fleet()
  const id = view === undefined ? undefined : underCursor(view)
  const row = view?.snapshot.requests.find((one) => one.id === id)
  if (id === undefined || row === undefined) return
  confirm(console, {
    title: `cancel request ${id}?`,
    lines: [
      `${row.model} for ${row.tenant}/${row.actor}, ${row.phase}${row.worker === null ? '' : ` on ${row.worker}`}.`,
      'Its client gets an error. This cannot be undone.',
    ],
    yes: 'cancel it',
    onYes: () => void cancel(console, id),
  })
}

async function cancel(console: Console, id: string): Promise<void> {
  const stop = sayBusy(console, `cancelling ${id}`)
  try {
    const { cancelled, message } = await console.admin.call('requests.cancel', { id })
    console.say(cancelled ? 'done' : 'note', `${message} · $ ogw requests cancel ${quoted(id)}`)
  } catch (error) {
    sayFailure(console, error)
  } finally {
    stop()
  }
}

export function pickPhase(console: Console): void {
  openMenu(console, 'only requests that are', [
    { label: 'in any phase', run: () => console.update({ requestPhase: '' }) },
    ...PHASES.map((phase) => ({
      label: phase,
      run: () => console.update({ requestPhase: phase }),
    })),
  ])
}

/** To the model's row of the matrix; a filter that hides it is cleared, its family unfolded. */
export function jumpToModel(console: Console): void {
  const view = console.fleet()
  const row = view === undefined ? undefined : modelUnderCursor(view)
  if (row === undefined) return
  goToScreen(console, 'placement')
  console.updateScreen({ filter: '', row: row.model }, 'placement')
  console.updateMatrix({ foldAll: false, folds: new Map() })
}
