// How a placement change, done or only tried, is told.

import type { PlacementChange } from '../gateway/contract/schema/placement.ts'
import { presentChanges } from '../tui/present/placement.ts'
import { sanitise } from '../tui/present/text.ts'
import { plural } from '../tui/present/units.ts'
import type { CliContext } from './context.ts'
import type { ChangeFlags } from './options.ts'
import { type Look, renderTable } from './table.ts'

export function printChange(
  context: CliContext,
  flags: ChangeFlags,
  change: PlacementChange,
): void {
  if (flags.dryRun === true) {
    const { changes, orphaned, refused_last_hour } = change
    context.print({ changes, orphaned, refused_last_hour }, (look) => planInWords(change, look))
    return
  }
  context.print(change, () => changeInWords(change))
}

function changeInWords({ message, changes, id }: PlacementChange): string {
  const effect = id === null ? '' : ` (${plural(changes.length, 'cell')} changed, edit ${id})`
  return sanitise(message) + effect
}

function planInWords(plan: PlacementChange, look: Look): string {
  const parts: string[] = []
  if (plan.changes.length > 0) parts.push(renderTable(presentChanges(plan), look))
  if (plan.orphaned.length > 0) {
    parts.push(`left without a worker: ${plan.orphaned.map(sanitise).join(', ')}\n`)
  }
  if (plan.refused_last_hour > 0) {
    parts.push(`requests of the last hour that would be refused: ${plan.refused_last_hour}\n`)
  }
  // Without a cell that changes, the gateway says `no change` or which rule it would write.
  return parts.length === 0 ? sanitise(plan.message) : parts.join('')
}
