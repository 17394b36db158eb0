// Every failure the gateway itself reports to a client is one of these. A worker's own error
// response is not: it is relayed to the client as it came.

/** Why one worker was not used, in one sentence that names what decided. */
export interface WorkerReason {
  worker: string
  reason: string
}

export type Fault =
  | { code: 'invalid_request'; detail: string }
  | { code: 'unsupported_encoding'; encoding: string }
  | { code: 'body_too_large'; limitBytes: number }
  | { code: 'unauthorized'; detail: string }
  | { code: 'forbidden'; detail: string }
  | { code: 'not_found'; detail: string }
  | { code: 'model_blocked'; model: string; workers: readonly WorkerReason[] }
  | { code: 'model_is_cloud'; model: string; workers: readonly WorkerReason[] }
  | { code: 'model_not_installed'; model: string; workers: readonly WorkerReason[] }
  | {
      code: 'capability_missing'
      model: string
      missing: readonly string[]
      workers: readonly WorkerReason[]
    }
  | {
      code: 'context_too_long'
      model: string
      tokensNeeded: number
      tokensMax: number
      workers: readonly WorkerReason[]
    }
  | { code: 'num_ctx_invalid'; model: string; detail: string }
  | { code: 'credits_spent'; detail: string; retryAfterS: number }
  | {
      code: 'no_worker_up'
      model: string
      workers: readonly WorkerReason[]
      retryAfterS: number
    }
  | { code: 'queue_full'; model: string; waiting: number; retryAfterS: number }
  | { code: 'queue_timeout'; model: string; waitedMs: number; retryAfterS: number }
  | { code: 'shutting_down' }
  | { code: 'attempts_failed'; model: string; workers: readonly WorkerReason[] }
  | { code: 'attempts_timed_out'; model: string; workers: readonly WorkerReason[] }
  | { code: 'worker_cut'; worker: string; bytesSent: number }
  | { code: 'worker_incomplete'; worker: string; bytesSent: number }
  | { code: 'worker_silent'; worker: string; silentMs: number }
  /** A worker's own error that can only be told inside a stream that has begun. */
  | { code: 'upstream_error'; worker: string; status: number; detail: string }
  | { code: 'cancelled_by_operator'; operator: string }
  | { code: 'internal'; requestId: string }

export type FaultCode = Fault['code']

/** Busy must queue (503 with Retry-After after a wait); absent must fail at once (503). */
const STATUS: Record<FaultCode, number> = {
  invalid_request: 400,
  unsupported_encoding: 415,
  body_too_large: 413,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  model_blocked: 403,
  model_is_cloud: 403,
  model_not_installed: 404,
  capability_missing: 400,
  context_too_long: 400,
  num_ctx_invalid: 400,
  credits_spent: 429,
  no_worker_up: 503,
  queue_full: 503,
  queue_timeout: 503,
  shutting_down: 503,
  attempts_failed: 502,
  attempts_timed_out: 504,
  worker_cut: 502,
  worker_incomplete: 502,
  worker_silent: 504,
  upstream_error: 502,
  cancelled_by_operator: 503,
  internal: 500,
}

/** An operational failure. Anything else that is thrown is a bug and ends its request with 500. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError'
  readonly fault: Fault

  constructor(fault: Fault, options?: { cause?: unknown }) {
    super(messageOf(fault), options)
    this.fault = fault
  }

  get status(): number {
    return this.fault.code === 'upstream_error' ? this.fault.status : STATUS[this.fault.code]
  }

  /** Whole seconds for Retry-After, where waiting can help. */
  get retryAfterS(): number | undefined {
    return 'retryAfterS' in this.fault ? this.fault.retryAfterS : undefined
  }
}

function messageOf(fault: Fault): string {
  if (fault.code === 'num_ctx_invalid') return `num_ctx for "${fault.model}": ${fault.detail}`
  if ('detail' in fault) return fault.detail
  switch (fault.code) {
    case 'unsupported_encoding':
      return `content-encoding "${fault.encoding}" is not supported here; send the body uncompressed (zstd is accepted on /v1 routes)`
    case 'body_too_large':
      return `the request body is larger than the limit of ${fault.limitBytes} bytes (admission.max_body_bytes)`
    case 'shutting_down':
      return 'the gateway is shutting down and takes no new requests'
    case 'worker_cut':
      return `worker "${fault.worker}" closed the stream after ${fault.bytesSent} bytes`
    case 'worker_incomplete':
      return `worker "${fault.worker}" ended the stream after ${fault.bytesSent} bytes without finishing the answer`
    case 'worker_silent':
      return `worker "${fault.worker}" sent nothing for ${seconds(fault.silentMs)} and was given up`
    case 'cancelled_by_operator':
      return `the request was cancelled by an operator (${fault.operator})`
    case 'internal':
      return `the gateway failed on this request; its log has the reason under request ${fault.requestId}`
    default:
      return admissionMessageOf(fault)
  }
}

type AdmissionFault = Extract<
  Fault,
  {
    code:
      | 'model_blocked'
      | 'model_is_cloud'
      | 'model_not_installed'
      | 'capability_missing'
      | 'context_too_long'
      | 'no_worker_up'
      | 'queue_full'
      | 'queue_timeout'
      | 'attempts_failed'
      | 'attempts_timed_out'
  }
>

function admissionMessageOf(fault: AdmissionFault): string {
  switch (fault.code) {
    case 'model_blocked':
      return `model "${fault.model}" may not run on any worker: ${reasons(fault.workers)}`
    case 'model_is_cloud':
      return `model "${fault.model}" would run in Ollama's cloud, which no worker allows by an exact placement rule: ${reasons(fault.workers)}`
    case 'model_not_installed':
      return `model "${fault.model}" is not installed on any eligible worker, not found: ${reasons(fault.workers)}`
    case 'capability_missing':
      return `model "${fault.model}" does not support ${fault.missing.join(', ')}: ${reasons(fault.workers)}`
    case 'context_too_long':
      return `prompt is too long: ${fault.tokensNeeded} tokens > ${fault.tokensMax} maximum for model "${fault.model}": ${reasons(fault.workers)}`
    case 'no_worker_up':
      return `no worker for model "${fault.model}" is up: ${reasons(fault.workers)}`
    case 'queue_full':
      return `the queue is full (${fault.waiting} waiting, admission.max_queue); try again in ${fault.retryAfterS} s`
    case 'queue_timeout':
      return `no worker for model "${fault.model}" became free within ${seconds(fault.waitedMs)}; try again in ${fault.retryAfterS} s`
    case 'attempts_failed':
      return `every attempt to run model "${fault.model}" failed: ${reasons(fault.workers)}`
    case 'attempts_timed_out':
      return `every attempt to run model "${fault.model}" failed or timed out: ${reasons(fault.workers)}`
  }
}

/** A client is not sent a page about a fleet of 200. */
const MAX_REASONS = 20

function reasons(list: readonly WorkerReason[]): string {
  const shown = list.slice(0, MAX_REASONS).map(({ worker, reason }) => `${worker}: ${reason}`)
  if (list.length > MAX_REASONS) shown.push(`and ${list.length - MAX_REASONS} more`)
  return shown.length > 0 ? shown.join('; ') : 'no worker is configured'
}

function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`
}
