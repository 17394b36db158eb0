// Who hears that a request is over. Booked once, at the end: a status that is booked with the
// headers calls every later failure a success.

import type { Log } from './log.ts'
import type { RequestRecord } from './request-record.ts'

export interface Observer {
  /** Never throws: what a listener does wrong must not change what a client gets. */
  requestDone(record: RequestRecord): void
}

export type RequestSink = (record: RequestRecord) => void

export function createObserver(log: Log, sinks: readonly RequestSink[]): Observer {
  return {
    requestDone(record) {
      for (const sink of sinks) {
        try {
          sink(record)
        } catch (error) {
          log.bug('log.sink_failed', error, { request: record.id })
        }
      }
    },
  }
}

/** The one line that a request leaves in the log. */
export function requestLog(log: Log): RequestSink {
  return (record) => {
    log.event('request.done', {
      request: record.id,
      dialect: record.dialect,
      path: record.path,
      model: record.model,
      tenant: record.tenant,
      actor: record.actor,
      worker: record.worker,
      outcome: record.outcome,
      code: record.code,
      status: record.status,
      attempts: record.attempts,
      notices: record.notices.length === 0 ? undefined : record.notices.join(' '),
      queue_ms: Math.round(record.queueMs),
      ttfb_ms: record.ttfbMs === undefined ? undefined : Math.round(record.ttfbMs),
      duration_ms: Math.round(record.durationMs),
      prompt_tokens: record.promptTokens,
      output_tokens: record.outputTokens,
      estimated: record.estimated,
      trace: record.trace.traceId,
    })
  }
}
