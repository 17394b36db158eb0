// Notices of requests for people: one line in the log and one event of the console a minute for
// each event, model and worker. A client that makes a model reload with every request is to be
// seen, not to push everything else out of sight; the metrics count each time.

import type { Clock } from '../clock.ts'
import type { EventRing } from '../observe/event-ring.ts'
import type { Log } from '../observe/log.ts'

const QUIET_MS = 60_000
/** Events times models times workers that are remembered; beyond, some are told again too soon. */
const MAX_TOLD = 1_000

interface Sinks {
  clock: Clock
  log: Log
  events: EventRing
}

type Fields = Readonly<Record<string, string | number>>

export function noticesTo({ clock, log, events }: Sinks): (name: string, fields: Fields) => void {
  const toldAt = new Map<string, number>()
  return (name, fields) => {
    const { worker, model, ...others } = fields
    const object = [model, worker].filter((part) => part !== undefined).join(' ')
    const topic = `${name} ${object}`
    const now = clock.mono()
    const last = toldAt.get(topic)
    if (last !== undefined && now - last < QUIET_MS) return
    if (toldAt.size >= MAX_TOLD) toldAt.clear()
    toldAt.set(topic, now)
    log.event(name, fields)
    const detail = Object.entries(others).map(([key, value]) => `${key} ${value}`)
    events.add({ severity: 'warn', event: name, object, detail: detail.join(', ') })
  }
}
