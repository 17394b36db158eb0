// What the parts of one simulated worker share.

import type { IncomingMessage } from 'node:http'
import type { SimClock } from './clock.ts'
import type { EventLog } from './events.ts'
import type { FaultBook, Strikes } from './faults.ts'
import type { Inventory } from './inventory.ts'
import type { Random } from './random.ts'
import type { Recorder, SeenRequest } from './record.ts'
import type { Reply } from './reply.ts'
import type { Scheduler } from './scheduler.ts'
import type { Settings } from './settings.ts'
import type { Features } from './versions.ts'

export interface Sim {
  settings: Settings
  features: Features
  clock: SimClock
  random: Random
  inventory: Inventory
  scheduler: Scheduler
  faults: FaultBook
  record: Recorder
  events: EventLog
}

/** One request on its way through the worker. */
export interface Exchange {
  sim: Sim
  req: IncomingMessage
  seen: SeenRequest
  path: string
  /** Variable parts of the route's path, by name. */
  params: Readonly<Record<string, string>>
  /** The whole body, but for blobs, which are read by their route. */
  text: string
  /** Aborted when the client leaves. */
  signal: AbortSignal
  strikes: Strikes
  reply: Reply
}

export const JSON_UTF8 = 'application/json; charset=utf-8'

/** RFC 3339 with nanoseconds, trailing zeros dropped as Go does. */
export function stamp(sim: Sim, ms: number = sim.clock.now()): string {
  const seconds = new Date(ms).toISOString().slice(0, 19)
  const nanos = (Math.floor(ms) % 1000) * 1_000_000 + below(sim, ms)
  const fraction = String(nanos).padStart(9, '0').replace(/0+$/u, '')
  return fraction === '' ? `${seconds}Z` : `${seconds}.${fraction}Z`
}

const lastStamps = new WeakMap<Sim, { ms: number; nanos: number }>()

/** Nanoseconds within the millisecond; two stamps of the same one go up. */
function below(sim: Sim, ms: number): number {
  const last = lastStamps.get(sim)
  const nanos =
    last?.ms === ms
      ? Math.min(999_999, last.nanos + 1000 + sim.random.int(9000))
      : sim.random.int(400_000)
  lastStamps.set(sim, { ms, nanos })
  return nanos
}

/** Seconds since 1970, as the OpenAI dialects write it. */
export const unixSeconds = (sim: Sim): number => Math.floor(sim.clock.now() / 1000)
