// One request on its way through the gateway: what was read from its head, and where its answer
// goes. Made by server.ts for each request, never shared between two.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Visitor } from '../access/visitor.ts'

export interface RequestContext {
  /** The gateway's own id; a client's x-request-id is never taken for it. */
  readonly id: string
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /**
   * Of every answer to this request, errors and streams included: its id, and its CORS headers.
   * Given to writeHead with the others: setHeader would make Node merge two sets for each answer.
   */
  readonly answerHeaders: Record<string, string | number>
  /** Slashes collapsed, no key prefix, no query, still percent-encoded. What routes match on. */
  readonly path: string
  /** Without the question mark; empty where there is none. */
  readonly query: string
  /** The key of `/k/<key>/…`, decoded. A secret: for access alone, never for a log. */
  readonly pathKey: string | undefined
  /** Who sent it: nobody until the front desk has looked. */
  visitor: Visitor
  /** Monotonic time at which the head of the request was complete. */
  readonly startedAt: number
  /**
   * Sends 100 Continue if the client waits for one. Called by whoever is about to read the body,
   * after everything that can be refused without reading it. Idempotent.
   */
  acceptBody(): void
}
