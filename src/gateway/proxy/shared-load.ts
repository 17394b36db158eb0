// When an attempt ends before its answer does. A real Ollama aborts a load together with the
// request that caused it, and the next waiter starts from zero (ollama-api.md T37).

import type { Lease } from '../admission/ask.ts'
import type { ActiveRequest } from './active-requests.ts'
import { ClientGone } from './active-requests.ts'
import type { StopSource } from './attempt.ts'
import type { InferenceDeps, InferenceRequest } from './inference-deps.ts'

export interface SharedLoad extends StopSource {
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
  let begun = false
  let left = false
  let stopped = false
  let listener: (() => void) | undefined
  const stop = (): void => {
    if (stopped) return
    stopped = true
    listener?.()
  }
  let forget: (() => void) | undefined
  const { key } = request.name
  const isWanted = (): boolean =>
    deps.active.isWanted(lease.worker, key) || deps.admission.isWaitedFor(key)
  const onAbort = (): void => {
    left = true
    const mayStay = !begun && !lease.warm && active.signal.reason instanceof ClientGone
    if (!mayStay || !isWanted()) stop()
    // The last one to leave ends the load: it is not kept for others that have left as well.
    else forget = deps.active.onLeave(() => isWanted() || stop())
  }
  if (active.signal.aborted) onAbort()
  else active.signal.addEventListener('abort', onAbort, { once: true })
  return {
    // A getter of an object that is made for each request would keep the whole request until a full
    // collection: V8 makes a hidden class for each, in the old generation.
    isStopped: () => stopped,
    onStop(action) {
      listener = action
    },
    begun() {
      begun = true
      if (left) stop()
    },
    close() {
      active.signal.removeEventListener('abort', onAbort)
      forget?.()
    },
  }
}
