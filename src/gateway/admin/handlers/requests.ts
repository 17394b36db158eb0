// Requests over the admin socket: the list, one with its decisions, the end of one, and what would
// happen to a request that is only asked about.

import type { Decision } from '../../admission/ask.ts'
import type { Clock } from '../../clock.ts'
import { AdminError } from '../../contract/faults.ts'
import { GatewayError } from '../../errors.ts'
import type { EventRing } from '../../observe/event-ring.ts'
import type { Handlers } from '../handlers.ts'
import { contextRow } from '../rows/models.ts'
import { ageOf, decisionRow, requestDetail, requestRow } from '../rows/requests.ts'
import type { ContextView, RequestBoard, TrackedRequest } from '../sources.ts'

export interface ExplainQuestion {
  /** As a client would write it. */
  model: string
  tools: boolean
  vision: boolean
  /** Tokens that the prompt and the answer take; undefined = small. */
  contextTokens: number | undefined
  /** Id of a key whose tenant asks; undefined = the default tenant. */
  key: string | undefined
}

export interface ExplainAnswer {
  /** The model that would run. */
  model: string
  /** What was asked for where an alias changed it. */
  askedModel: string | undefined
  decision: Decision
  /** Key of the model that would run; undefined where it runs in the cloud. */
  localKey: string | undefined
  /** What the client would be told; undefined where it would run or wait. */
  refusal: GatewayError | undefined
}

export interface RequestsHandlerDeps {
  clock: Clock
  requests: RequestBoard
  events: EventRing
  /** Judges without taking a slot. Throws GatewayError invalid_request for what is no model. */
  explain(question: ExplainQuestion): ExplainAnswer
  contextOn: ContextView
}

type Name = Extract<keyof Handlers, `requests.${string}`> | 'explain'

export function requestsHandlers(deps: RequestsHandlerDeps): Pick<Handlers, Name> {
  const { clock, requests, events } = deps
  return {
    'requests.list': () => {
      const now = clock.mono()
      return requests.list().map((each) => ({ ...requestRow(each, now), age_ms: ageOf(each, now) }))
    },
    'requests.show': ({ id }) => requestDetail(found(requests, id), clock.mono(), clock.now()),
    'requests.cancel': ({ id, dry_run = false }, { actor, note }) => {
      const request = found(requests, id)
      const runs = ['waiting', 'sent', 'streaming'].includes(request.phase)
      const cancelled = runs && (dry_run || requests.cancel(id, actor))
      const message = cancelled ? `cancelled ${id}` : `${id} has ended already (${request.phase})`
      if (!dry_run) {
        note({ changed: cancelled, before: request.phase, after: 'cancelled', message })
        const detail = `${request.model} of ${request.tenant}`
        const event = { severity: 'info', event: 'request.cancel', object: id, detail } as const
        if (cancelled) events.add({ ...event, actor })
      }
      return { id, cancelled, message }
    },
    explain: (input) => {
      const answer = ask(deps, {
        model: input.model,
        tools: input.tools ?? false,
        vision: input.vision ?? false,
        contextTokens: input.ctx,
        key: input.key,
      })
      const { refusal, localKey } = answer
      const { judged, ...decision } = decisionRow(answer.decision, clock.mono(), clock.now())
      const contextOf = (worker: string) =>
        localKey === undefined ? null : contextRow(deps.contextOn(worker, localKey))
      return {
        model: answer.model,
        asked_model: answer.askedModel ?? null,
        ...decision,
        judged: judged.map((one) => ({ ...one, context: contextOf(one.worker) })),
        answer: refusal === undefined ? null : { status: refusal.status, message: refusal.message },
      }
    },
  }
}

/** What the gateway would refuse before it judges any worker: no model name, no such key. */
function ask(deps: RequestsHandlerDeps, question: ExplainQuestion): ExplainAnswer {
  try {
    return deps.explain(question)
  } catch (cause) {
    if (!(cause instanceof GatewayError)) throw cause
    const code = cause.fault.code === 'invalid_request' ? 'invalid_input' : 'not_found'
    throw new AdminError({ code, message: cause.message }, { cause })
  }
}

function found(requests: RequestBoard, id: string): TrackedRequest {
  const request = requests.find(id)
  if (request !== undefined) return request
  const message = `there is no request "${id}"; requests are forgotten some time after they end`
  throw new AdminError({ code: 'not_found', message, details: { id } })
}
