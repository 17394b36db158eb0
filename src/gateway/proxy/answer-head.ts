// The head of a worker's answer as its client gets it: what the worker said, and what the gateway
// did for it.

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { ActiveRequest } from './active-requests.ts'
import { answerHeaders } from './upstream-request.ts'

interface Done {
  worker: string
  active: ActiveRequest
  warnings: readonly string[]
}

export function answerHead(
  headers: IncomingHttpHeaders,
  { worker, active, warnings }: Done,
): OutgoingHttpHeaders {
  const head = answerHeaders(headers)
  head['x-ogw-worker'] = encodeURIComponent(worker)
  head['x-ogw-queue-ms'] = Math.round(active.queueMs)
  head['x-ogw-attempts'] = active.attempts
  if (warnings.length > 0) head['x-ogw-warning'] = headerText(warnings)
  return head
}

/** Names are of any script; a header is ASCII, and one line. */
function headerText(warnings: readonly string[]): string {
  return warnings.join('; ').replaceAll(/[^\x20-\x7e]/g, '?')
}
