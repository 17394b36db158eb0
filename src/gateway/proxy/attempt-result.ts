// How one attempt can end, as values.

import type { IncomingHttpHeaders } from 'node:http'

/** Why an attempt failed before the client saw a byte of it. */
export type AttemptFault =
  | {
      cause: 'transport'
      detail: string
      error: unknown
      /** The head of an answer had come. */
      answered: boolean
    }
  | { cause: 'absent'; silentMs: number; detail: string }
  | { cause: 'timeout'; silentMs: number }
  | { cause: 'empty' }
  | { cause: 'redirect'; status: number }
  /** No Ollama: the login or error page of what stands before it, though the status says success. */
  | { cause: 'web_page' }
  | { cause: 'unreadable_error'; status: number }

/** How an answer ended that the client saw the beginning of. */
export type RelayEnd =
  | { kind: 'ended' }
  | { kind: 'cut'; detail: string; error: unknown }
  | { kind: 'absent'; silentMs: number; detail: string }
  | { kind: 'timeout'; silentMs: number }
  | { kind: 'slow_client' }
  | { kind: 'aborted' }

export type AttemptResult =
  | { kind: 'relayed'; status: number; end: RelayEnd; tail: Buffer; chunks: number }
  | { kind: 'refused'; status: number; headers: IncomingHttpHeaders; body: Buffer }
  | { kind: 'failed'; fault: AttemptFault }
  | { kind: 'aborted' }

/** The worker has ended it, one way or the other: there is no connection to break off. */
export function isOver(result: AttemptResult): boolean {
  switch (result.kind) {
    case 'refused':
      return true
    case 'relayed':
      return result.end.kind === 'ended' || result.end.kind === 'cut'
    case 'failed':
      return result.fault.cause === 'transport' || result.fault.cause === 'empty'
    case 'aborted':
      return false
  }
}
