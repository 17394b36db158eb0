// One loaded model: its context, its session and its permits. Requests beyond
// the permits wait in order, without bound and without a sign to the client.

import type { SimClock } from './clock.ts'
import type { SimModel } from './models.ts'
import type { RunnerRequest } from './scheduler.ts'

export interface Runner {
  model: SimModel
  numCtx: number
  shift: boolean
  /** Requests that hold it, waiting for a permit or running. */
  refCount: number
  /** Milliseconds it stays after the last request; Infinity for good. */
  sessionMs: number
  /** Milliseconds since 1970; stale while a request runs, as in Ollama. */
  expiresAt: number
  /** Its process is gone; the next request starts a new one. */
  dead: boolean
  /** Aborted when the process dies, with the reason its requests report. */
  readonly death: AbortController
  timer: (() => void) | undefined
  stopTimer(): void
  needsReload(request: RunnerRequest): boolean
  /** Takes a permit; the answer gives it back. Rejects when the signal is aborted first. */
  permit(signal: AbortSignal): Promise<() => void>
  running(): number
  waiting(): number
}

export function createRunner(made: {
  clock: SimClock
  request: RunnerRequest
  slots: number
  sessionMs: number
}): Runner {
  const { clock, request, slots, sessionMs } = made
  const queue: (() => void)[] = []
  let taken = 0

  const giveBack = (): void => {
    const next = queue.shift()
    if (next === undefined) taken -= 1
    else next()
  }
  const runner: Runner = {
    model: request.model,
    numCtx: request.numCtx,
    shift: request.shift,
    refCount: 0,
    sessionMs,
    expiresAt: clock.now() + sessionMs,
    dead: false,
    death: new AbortController(),
    timer: undefined,
    stopTimer() {
      runner.timer?.()
      runner.timer = undefined
    },
    needsReload: (wanted) =>
      runner.dead || wanted.numCtx !== runner.numCtx || wanted.shift !== runner.shift,
    running: () => taken,
    waiting: () => queue.length,
    async permit(signal) {
      signal.throwIfAborted()
      if (taken < slots) taken += 1
      else await turn(queue, signal)
      let held = true
      return () => {
        if (held) giveBack()
        held = false
      }
    },
  }
  return runner
}

/** Resolves when the permit of a request before it is handed on. */
function turn(queue: (() => void)[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const take = (): void => {
      signal.removeEventListener('abort', leave)
      resolve()
    }
    const leave = (): void => {
      queue.splice(queue.indexOf(take), 1)
      reject(signal.reason as Error)
    }
    queue.push(take)
    signal.addEventListener('abort', leave, { once: true })
  })
}
