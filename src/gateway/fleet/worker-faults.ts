// The one place that reads the text of a worker's error. Ollama says what happened only in words,
// which differ by version and dialect, so they are matched loosely and only together with the
// status. Sentences: reference of Ollama's errors, "Messages and codes".

import { jsonOf } from './addresses.ts'

export type WorkerFault =
  /** This worker does not have the model; another may. */
  | 'missing_model'
  /** Its queue is full: waiting helps, blaming does not. */
  | 'busy'
  /** The model does not start there; other models may. */
  | 'load_failed'
  /** It does not fit into memory there. */
  | 'out_of_memory'
  /** The process that ran the model is gone. */
  | 'runner_died'
  /** The request itself is wrong: every worker would say so. */
  | 'client_fault'
  | 'other'

/** What a worker means by an error answer. */
export function classify(status: number, bodyText: string): WorkerFault {
  const message = errorMessage(bodyText)
  if (status === 404) {
    // `404 page not found` is a route that an old worker lacks and says nothing of the model.
    return message !== undefined && /\bnot found\b/i.test(message) && /model/i.test(message)
      ? 'missing_model'
      : 'client_fault'
  }
  // An Ollama that is full says so in its own shape; a page is a reverse proxy's, whose worker is gone.
  if (status === 503 && message !== undefined) return 'busy'
  if (status >= 400 && status < 500) return 'client_fault'
  return message === undefined ? 'other' : faultOfMessage(message)
}

/** What an error line inside a stream means, which comes without a status. */
function faultOfMessage(message: string): WorkerFault {
  return WORDS.find(([pattern]) => pattern.test(message))?.[1] ?? 'other'
}

/** In this order: a load that fails for memory says both. */
const WORDS: readonly (readonly [RegExp, WorkerFault])[] = [
  [/server busy|maximum pending requests/i, 'busy'],
  [
    /out[- ]of[- ]memory|requires more system memory|unable to load full model|cuda error|failed to allocate|cudaMalloc/i,
    'out_of_memory',
  ],
  [/runner has unexpectedly stopped|runner (?:process )?(?:is )?no longer running/i, 'runner_died'],
  [
    /(?:llama-server|runner)(?: process)? has terminated|timed out waiting for (?:llama|the|model|runner)|may be incompatible with your version|(?:unable|failed) to load (?:the )?model|error loading model/i,
    'load_failed',
  ],
  [/an error was encountered while running the model/i, 'runner_died'],
]

/**
 * The message of an error in any dialect: `{"error":"text"}` or `{"error":{"message":"text"}}`.
 * A runner's own JSON, passed on as a string, is unwrapped once.
 */
export function errorMessage(bodyText: string): string | undefined {
  const message = messageOf(jsonOf(Buffer.from(bodyText)))
  if (message === undefined || !message.startsWith('{')) return message
  return messageOf(jsonOf(Buffer.from(message))) ?? message
}

function messageOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('error' in value)) return undefined
  const { error } = value
  if (typeof error === 'string') return error
  if (typeof error !== 'object' || error === null || !('message' in error)) return undefined
  return typeof error.message === 'string' ? error.message : undefined
}
