// What tenants and their actors do: who runs, who waits, and what the last minute and the last hour
// looked like. Nothing is written down, and everything in it is bounded.

import type { Clock } from '../clock.ts'
import type { RequestRecord } from '../observe/request-record.ts'
import { HourCounts } from './hour-counts.ts'
import { MinuteSums } from './minute-sums.ts'
import type { Sums } from './minute-sums.ts'
import type { ActiveView } from './request-board.ts'

export interface Load {
  /** On a worker. */
  active: number
  queued: number
}

export interface ActorUse extends Load {
  actor: string
  requestsLastHour: number
  /** Wall clock; undefined where nothing of it has ended since the start. */
  lastWall: number | undefined
}

/** Actors are named by clients; who was seen longest ago is forgotten first. */
const ACTORS_REMEMBERED = 10_000

type Ended = Pick<RequestRecord, 'tenant' | 'actor' | 'promptTokens' | 'outputTokens'>

export class TenantBook {
  readonly #clock: Clock
  readonly #active: { list(): readonly ActiveView[] }
  readonly #hour: HourCounts
  readonly #minutes = new Map<string, MinuteSums>()
  readonly #lastWall = new Map<string, number>()

  constructor(clock: Clock, active: { list(): readonly ActiveView[] }) {
    this.#clock = clock
    this.#active = active
    this.#hour = new HourCounts(clock)
  }

  /** A request is over: a sink for the observer. */
  done({ tenant, actor, promptTokens, outputTokens }: Ended): void {
    const minute = this.#minutes.get(tenant) ?? new MinuteSums(this.#clock)
    this.#minutes.set(tenant, minute)
    minute.add({ tokens: promptTokens + outputTokens })
    if (actor === '') return // it was refused before anybody knew whose it was
    const key = keyOf(tenant, actor)
    this.#hour.add(key)
    this.#lastWall.delete(key)
    this.#lastWall.set(key, this.#clock.now())
    if (this.#lastWall.size <= ACTORS_REMEMBERED) return
    const [oldest] = this.#lastWall.keys()
    if (oldest !== undefined) this.#lastWall.delete(oldest)
  }

  /** By tenant, those that have nothing left out. */
  loads(): Map<string, Load> {
    return loadsBy(this.#active.list(), ({ tenant }) => tenant)
  }

  /** Of requests that ended in the last minute; tokens are in plus out. */
  lastMinute(tenant: string): Pick<Sums, 'requests' | 'tokens'> {
    const sums = this.#minutes.get(tenant)?.sums() ?? { requests: 0, tokens: 0 }
    if (sums.requests === 0) this.#minutes.delete(tenant)
    return sums
  }

  /** Those that run, wait, or ended something lately, in no order. */
  actors(tenant: string): ActorUse[] {
    const own = this.#active.list().filter((view) => view.tenant === tenant && view.actor !== '')
    const loads = loadsBy(own, ({ actor }) => actor)
    const start = keyOf(tenant, '')
    const hour = this.#hour.sums()
    const seen = [...this.#lastWall.keys(), ...hour.keys()]
      .filter((key) => key.startsWith(start))
      .map((key) => key.slice(start.length))
    return [...new Set([...loads.keys(), ...seen])].map((actor) => ({
      actor,
      ...(loads.get(actor) ?? { active: 0, queued: 0 }),
      requestsLastHour: hour.get(keyOf(tenant, actor)) ?? 0,
      lastWall: this.#lastWall.get(keyOf(tenant, actor)),
    }))
  }
}

function loadsBy(
  views: readonly ActiveView[],
  nameOf: (view: ActiveView) => string,
): Map<string, Load> {
  const loads = new Map<string, Load>()
  for (const view of views) {
    const load = loads.get(nameOf(view)) ?? { active: 0, queued: 0 }
    loads.set(nameOf(view), load)
    if (view.phase === 'reading' || view.phase === 'waiting') load.queued += 1
    else load.active += 1
  }
  return loads
}

/** A line feed is in no name of a tenant. */
function keyOf(tenant: string, actor: string): string {
  return `${tenant}\n${actor}`
}
