// What a change did on each of several workers, in words and as an exit code.

import type { OutputOf } from '../gateway/contract/schema.ts'
import { sanitise } from '../tui/present/text.ts'
import { plural } from '../tui/present/units.ts'
import { CliError } from './exit-codes.ts'

type Outcomes = OutputOf<'workers.drain'>

/** One worker that failed makes the command fail; then stderr tells what became of each. */
export function checkOutcomes(outcomes: Outcomes): void {
  const failed = outcomes.filter(({ ok }) => !ok)
  if (failed.length === 0) return
  throw new CliError('failed', `${failed.length} of ${plural(outcomes.length, 'worker')} failed`, {
    details: outcomes.map(({ worker, message }) => `${worker}: ${message}`),
  })
}

export function outcomesInWords(outcomes: Outcomes): string {
  if (outcomes.length === 0) return 'nothing to do'
  return outcomes.map(({ worker, message }) => sanitise(`${worker}: ${message}`)).join('\n')
}
