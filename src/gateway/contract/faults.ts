// How the admin socket says no. Plain data without zod: the client loads it.

/** Every kind of failure of an operation, with the HTTP status that carries it. */
export const FAULT_STATUS = {
  /** The input does not fit the shape of the operation, or names something impossible. */
  invalid_input: 400,
  /** No worker, model, request, history entry or operation of that name. */
  not_found: 404,
  /** The document moved on since the caller looked; the message says who changed what. */
  conflict: 409,
  /** A rule forbids it; where `details.force` is true, `force` overrules it. */
  refused: 403,
  /** The config file is not valid; what ran before still runs. */
  config_invalid: 422,
  /** State could not be written; nothing changed. */
  not_saved: 507,
  /** It was tried and did not work, such as a worker that answers with an error. */
  failed: 502,
  /** A bug in the gateway; its log has the stack. */
  internal: 500,
} as const

/** Codes that a gateway answers with. */
export type FaultCode = keyof typeof FAULT_STATUS

/** Codes that only the client side produces. */
export type ClientFaultCode =
  /** No gateway answers on any socket that was tried. */
  | 'not_running'
  /** The connection broke in the middle of an answer. */
  | 'disconnected'

/** The body of every answer that is not 200, and the last line of a stream that fails. */
export interface FaultBody {
  error: { code: FaultCode; message: string; details: Readonly<Record<string, unknown>> }
}

export interface AdminFault {
  code: FaultCode | ClientFaultCode
  /** One or two sentences for a person: what is wrong and what to do. */
  message: string
  details?: Readonly<Record<string, unknown>>
}

/** An operation that did not happen. `code` decides the exit code, `message` is for the person. */
export class AdminError extends Error {
  override readonly name = 'AdminError'
  readonly code: FaultCode | ClientFaultCode
  readonly details: Readonly<Record<string, unknown>>

  constructor({ code, message, details = {} }: AdminFault, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
    this.details = details
  }
}
