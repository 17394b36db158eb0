// What happened on a simulated worker, by name and in order. A test waits for an
// event; one that has already happened since the last reset counts.

/** Events kept for late waiters; the oldest are forgotten first. */
const MAX_KEPT = 10_000

export type EventName =
  | 'connection'
  | 'request'
  | 'headers-sent'
  | 'chunk-sent'
  | 'response-end'
  | 'peer-closed'
  | 'fault'
  | 'queued'
  | 'rejected'
  | 'slot-wait'
  | 'slot-taken'
  | 'slot-freed'
  | 'load-begun'
  | 'load-ended'
  | 'load-aborted'
  | 'unloaded'

export interface SimEvent {
  name: EventName
  /** Milliseconds since 1970, by the worker's clock. */
  at: number
  requestId?: number
  model?: string
  path?: string
  /** For `chunk-sent` and `peer-closed`: body chunks sent so far. */
  chunk?: number
  detail?: string
}

export interface WaitOptions {
  /** Only events for which this holds. */
  where?: (event: SimEvent) => boolean
  /** Wait until that many have happened. Default 1. */
  count?: number
  /** Milliseconds of real time. Default 10000. */
  timeoutMs?: number
}

export interface EventLog {
  emit(event: SimEvent): void
  /** The event that made the wait end. */
  waitFor(name: EventName, options?: WaitOptions): Promise<SimEvent>
  all(): readonly SimEvent[]
  reset(): void
}

interface Waiter {
  name: EventName
  where: (event: SimEvent) => boolean
  missing: number
  resolve: (event: SimEvent) => void
}

export function createEventLog(): EventLog {
  let kept: SimEvent[] = []
  const waiters = new Set<Waiter>()
  return {
    emit(event) {
      kept.push(event)
      if (kept.length > MAX_KEPT) kept = kept.slice(-MAX_KEPT / 2)
      for (const waiter of waiters) offer(waiter, event)
    },
    waitFor(name, { where = () => true, count = 1, timeoutMs = 10_000 } = {}) {
      const past = kept.filter((event) => event.name === name && where(event))
      const found = past[count - 1]
      if (found !== undefined) return Promise.resolve(found)
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiters.delete(waiter)
          reject(new Error(`waited ${timeoutMs} ms in vain for ${name} on the simulated worker`))
        }, timeoutMs)
        const waiter: Waiter = {
          name,
          where,
          missing: count - past.length,
          resolve: (event) => {
            clearTimeout(timer)
            waiters.delete(waiter)
            resolve(event)
          },
        }
        waiters.add(waiter)
      })
    },
    all: () => kept,
    reset() {
      kept = []
    },
  }
}

function offer(waiter: Waiter, event: SimEvent): void {
  if (event.name !== waiter.name || !waiter.where(event)) return
  waiter.missing -= 1
  if (waiter.missing === 0) waiter.resolve(event)
}
