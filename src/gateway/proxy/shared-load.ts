// When an attempt ends before its answer does. A real Ollama aborts a load together with the
// request that caused it, and the next waiter starts from zero (ollama-api.md T37).

import type { Lease } from '../admission/ask.ts'
import type { ActiveRequest } from './active-requests.ts'
import { ClientGone } from './active-requests.ts'
import type { InferenceDeps, InferenceRequest } from './inference-deps.ts'

export interface SharedLoad {
  signal: AbortSignal
  begun(): void
  close(): void
}

/**
 * Ends the attempt when its client leaves. Only while the model is being loaded and others wait
 * for that load it goes on until the first byte: a real Ollama aborts the load with the request.
 */
export function sharedLoad(
  deps: InferenceDeps,
  { lease, active, request }: { lease: Lease; active: ActiveRequest; request: InferenceRequest },
): SharedLoad {
  const controller = new AbortController()
  let begun = false
  let left = false
  const onAbort = (): void => {
    left = true
    const wanted =
      !begun &&
      !lease.warm &&
      active.signal.reason instanceof ClientGone &&
      deps.admission.loadIsWanted(lease.worker, request.name.key)
    if (!wanted) controller.abort(active.signal.reason)
  }
  if (active.signal.aborted) onAbort()
  else active.signal.addEventListener('abort', onAbort, { once: true })
  return {
    signal: controller.signal,
    begun() {
      begun = true
      if (left) controller.abort(active.signal.reason)
    },
    close: () => active.signal.removeEventListener('abort', onAbort),
  }
}
