// One request as a row, and with every decision made for it.

import type { Decision as Made, Judged } from '../../admission/ask.ts'
import type { Decision, RequestDetail, RequestRow } from '../../contract/schema/requests.ts'
import type { TrackedRequest } from '../sources.ts'
import { rounded } from './models.ts'

export function requestRow(request: TrackedRequest, now: number): RequestRow {
  return {
    id: request.id,
    tenant: request.tenant,
    actor: request.actor,
    model: request.model,
    asked_model: request.askedModel ?? null,
    dialect: request.dialect,
    path: request.path,
    priority: request.priority,
    phase: request.phase,
    worker: request.worker ?? null,
    entered_at: new Date(request.enteredWall).toISOString(),
    entered_mono: request.enteredMono,
    phase_mono: request.phaseMono,
    attempts: request.attempts,
    queue_ms: request.queueMs ?? null,
    first_byte_ms: request.firstByteMs ?? null,
    prompt_tokens: request.promptTokens ?? null,
    output_tokens: request.outputTokens ?? null,
    output_tokens_per_s: speedOf(request, now),
    reason: request.reason ?? null,
    status: request.status ?? null,
  }
}

export function requestDetail(request: TrackedRequest, now: number, wall: number): RequestDetail {
  return {
    ...requestRow(request, now),
    age_ms: ageOf(request, now),
    decisions: request.decisions.map((made) => decisionRow(made, now, wall)),
  }
}

export function ageOf({ enteredMono }: TrackedRequest, now: number): number {
  return Math.max(0, Math.round(now - enteredMono))
}

/** `at` of a decision is monotonic; it is shown as a wall clock time. */
export function decisionRow(made: Made, now: number, wall: number): Decision {
  return {
    at: new Date(wall - Math.max(0, now - made.at)).toISOString(),
    outcome: made.outcome,
    worker: made.worker ?? null,
    judged: made.judged().map(judgedRow),
  }
}

function judgedRow({
  worker,
  stoppedBy,
  reason,
  score,
  terms,
}: Judged): Decision['judged'][number] {
  return {
    worker,
    stopped_by: stoppedBy ?? null,
    reason,
    score: score ?? null,
    terms: terms.map(({ name, value, points }) => ({ name, value, points })),
  }
}

/** Of the whole stream so far; null before a second has passed, because it would jump about. */
function speedOf(request: TrackedRequest, now: number): number | null {
  const { phase, firstByteMs, outputTokens, enteredMono, phaseMono } = request
  if (firstByteMs === undefined || outputTokens === undefined) return null
  const end = phase === 'streaming' ? now : phaseMono
  const seconds = (end - enteredMono - firstByteMs) / 1000
  return seconds >= 1 ? rounded(outputTokens / seconds) : null
}
