// Requests, and why each went where it went. Prompts and answers are never part of it.

import type { OutputOf } from '../../gateway/contract/schema.ts'
import type { Decision, Explanation, RequestRow } from '../../gateway/contract/schema/requests.ts'
import { type Cell, cell, foreign, type TableView, type Tone } from './cell.ts'
import { contextInWords } from './models.ts'
import { count, duration, NONE, rate } from './units.ts'

export type RequestDetail = OutputOf<'requests.show'>
type Listed = OutputOf<'requests.list'>[number]

const PHASE_TONE: Readonly<Record<RequestRow['phase'], Tone>> = {
  waiting: 'warn',
  sent: 'plain',
  streaming: 'good',
  done: 'dim',
  failed: 'bad',
  cancelled: 'dim',
}

export function presentRequests(rows: readonly Listed[]): TableView {
  return {
    columns: [
      { header: 'ID' },
      { header: 'PHASE' },
      { header: 'AGE', align: 'right' },
      { header: 'TENANT' },
      { header: 'MODEL', cut: 'middle' },
      { header: 'WORKER' },
      { header: 'QUEUED', align: 'right' },
      { header: 'FIRST', align: 'right' },
      { header: 'IN', align: 'right' },
      { header: 'OUT', align: 'right' },
      { header: 'RATE', align: 'right' },
      { header: 'DIALECT' },
      { header: 'REASON', cut: 'end' },
    ],
    rows: rows.map((row) => [
      foreign(row.id),
      cell(row.phase, PHASE_TONE[row.phase]),
      cell(duration(row.age_ms)),
      foreign(row.tenant),
      foreign(row.model),
      foreign(row.worker),
      cell(duration(row.queue_ms)),
      cell(duration(row.first_byte_ms)),
      cell(count(row.prompt_tokens)),
      cell(count(row.output_tokens)),
      cell(rate(row.output_tokens_per_s)),
      foreign(row.dialect),
      foreign(row.reason),
    ]),
  }
}

export function presentRequest(row: RequestDetail): [string, Cell][] {
  const facts: [string, Cell][] = [
    ['id', foreign(row.id)],
    ['phase', cell(row.phase, PHASE_TONE[row.phase])],
    ['age', cell(duration(row.age_ms))],
    ['model', foreign(row.model)],
    ['asked model', foreign(row.asked_model)],
    ['worker', foreign(row.worker)],
    ['tenant', foreign(`${row.tenant}/${row.actor}`)],
    ['route', foreign(`${row.dialect} ${row.path}`)],
    ['priority', cell(row.priority)],
    ['attempts', cell(String(row.attempts))],
    ['queued', cell(duration(row.queue_ms))],
    ['first byte', cell(duration(row.first_byte_ms))],
    [
      'tokens',
      cell(
        `${count(row.prompt_tokens)} in, ${count(row.output_tokens)} out, ${rate(row.output_tokens_per_s)}`,
      ),
    ],
    ['status', cell(row.status === null ? NONE : String(row.status))],
    ['reason', foreign(row.reason)],
  ]
  return facts.filter(([, { text }]) => text !== NONE)
}

/** One row per worker: the gate that stopped it, or its score with every term. */
export function presentDecision(decision: Pick<Decision, 'judged' | 'worker'>): TableView {
  return {
    columns: [
      { header: 'WORKER' },
      { header: 'GATE' },
      { header: 'SCORE', align: 'right' },
      { header: 'TERMS', cut: 'end' },
      { header: 'REASON', cut: 'end' },
    ],
    rows: decision.judged.map((one) => [
      foreign(one.worker, one.worker === decision.worker ? 'good' : 'plain'),
      one.stopped_by === null ? cell('passed', 'good') : cell(one.stopped_by, 'bad'),
      cell(one.score === null ? NONE : points(one.score)),
      cell(
        one.terms.map(({ name, points: value }) => `${name} ${points(value, true)}`).join(', ') ||
          NONE,
      ),
      foreign(one.reason),
    ]),
  }
}

/** A decision about a question, with the context that the model has on each worker. */
export function presentExplanation(explained: Pick<Explanation, 'judged' | 'worker'>): TableView {
  const { columns, rows } = presentDecision(explained)
  return {
    columns: [...columns, { header: 'CONTEXT', cut: 'end' }],
    rows: rows.map((row, at) => [
      ...row,
      cell(contextInWords(explained.judged[at]?.context ?? null)),
    ]),
  }
}

/** At most one digit behind the point; with a sign where it is a term of a sum. */
function points(value: number, signed: boolean = false): string {
  const rounded = Math.round(value * 10) / 10
  // -0 would print as 0 but sort of lie about its sign.
  const text = String(rounded === 0 ? 0 : rounded)
  return signed && rounded >= 0 ? `+${text}` : text
}
