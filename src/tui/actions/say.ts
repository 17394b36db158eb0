// Answers of the gateway in words and rows.

import type { OutputOf } from '../../gateway/contract/schema.ts'
import type { Console } from '../console.ts'
import { fit } from '../present/text.ts'
import { type Line, span, type Style } from '../theme.ts'

export type Outcomes = OutputOf<'workers.drain'>

/** One sentence for one worker; how many went well for several. */
export function sayOutcomes(console: Console, outcomes: Outcomes, twin: string): void {
  const failed = outcomes.filter(({ ok }) => !ok)
  const words = (list: Outcomes): string =>
    list
      .map(({ worker, message }) => (message.includes(worker) ? message : `${worker}: ${message}`))
      .join('; ')
  if (failed.length > 0) console.say('error', words(failed))
  else console.say('done', `${words(outcomes)} · $ ogw ${twin}`)
}

const TONE: Readonly<Record<string, Style>> = { good: 'good', warn: 'warn', bad: 'bad', dim: 'dim' }

/** Label and value, one fact a row. */
export function factLines(
  facts: readonly (readonly [string, { text: string; tone: string }])[],
): Line[] {
  return facts.map(([label, { text, tone }]) => [
    span(`${fit(label, 16)} `, 'dim'),
    span(text, TONE[tone] ?? 'plain'),
  ])
}
