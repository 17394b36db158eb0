// The workers as they are: the single writer of their records.
//
// Whatever happens to a worker arrives here as an event and is applied at once, so that no await
// lies between a check and the change that it allows. Listeners are told afterwards, in the same
// step; they read the records and tell the fleet nothing about the event they are hearing.

import type { Clock } from '../clock.ts'
import type { WorkerConfig } from '../config/schema.ts'
import type { Now } from '../policy/worker-health.ts'
import type { FleetEvent, FleetLog, FleetSettings } from './fleet-event.ts'
import { changeRecord, newRecord, reconfigure } from './worker-record.ts'
import type { WorkerEvent } from './worker-knowledge.ts'
import type { WorkerRecord } from './worker-record.ts'
import { currentAddress } from './worker.ts'
import type { Worker } from './worker.ts'

export interface FleetDeps {
  clock: Clock
  log: FleetLog
  settings(): FleetSettings
  /** True while bytes of an answer come from the worker: then no probe can take it down. */
  bytesFlowing(worker: string): boolean
}

/** `worker` is undefined for `configured`, which is about all of them. */
export type FleetListener = (event: FleetEvent, worker: Worker | undefined) => void

export class Fleet {
  readonly #deps: FleetDeps
  readonly #listeners = new Set<FleetListener>()
  #records: WorkerRecord[] = []
  #byName = new Map<string, WorkerRecord>()
  #revision = 0

  constructor(deps: FleetDeps, workers: readonly WorkerConfig[]) {
    this.#deps = deps
    this.#configure(workers)
  }

  /** In the order of the config. The records change in place: keep no field over an await. */
  workers(): readonly Worker[] {
    return this.#records
  }

  worker(name: string): Worker | undefined {
    return this.#byName.get(name)
  }

  /** Grows with each change. */
  get revision(): number {
    return this.#revision
  }

  /** Calls the listener after each event that changed something. Returns what ends that. */
  onChange(listener: FleetListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** An event about a worker that the config no longer has changes nothing. */
  apply(event: FleetEvent): void {
    if (event.type === 'configured') {
      this.#configure(event.workers)
      this.#tell(event, undefined)
      return
    }
    const record = this.#byName.get(event.worker)
    if (record !== undefined) this.#change(record, event)
  }

  #change(record: WorkerRecord, event: WorkerEvent): void {
    const deps = this.#deps
    const before = record.health
    const changed = changeRecord(record, event, {
      now: nowOf(deps.clock),
      breaker: deps.settings().upstream.breaker,
      alive: deps.bytesFlowing(record.name),
    })
    if (!changed) return
    this.#log(before, record)
    this.#tell(event, record)
  }

  #configure(workers: readonly WorkerConfig[]): void {
    const now = nowOf(this.#deps.clock)
    this.#records = workers.map((config, index) => {
      const record = this.#byName.get(config.name)
      if (record === undefined) return newRecord(config, index, now)
      reconfigure(record, config, index, now)
      return record
    })
    this.#byName = new Map(this.#records.map((record) => [record.name, record]))
  }

  #tell(event: FleetEvent, worker: Worker | undefined): void {
    this.#revision += 1
    for (const listener of this.#listeners) listener(event, worker)
  }

  /** Going up names the address that answers; going down the one that did until now. */
  #log(before: Worker['health'], record: WorkerRecord): void {
    const { log, clock } = this.#deps
    const { name: worker, health, announced } = record
    if (before.state !== 'down' && health.state === 'down') {
      const address = announced?.url ?? record.addresses.map(({ url }) => url).join(', ')
      log.event('worker.down', { worker, address, error: health.error })
      return
    }
    const current = currentAddress(record)
    if (current === undefined) return
    record.announced = current
    const at = { worker, address: current.url, ip: current.ip ?? '' }
    if (before.state === 'down' && health.state === 'up') {
      log.event('worker.up', { ...at, down_ms: Math.round(clock.mono() - before.sinceMono) })
    } else if (announced === undefined) {
      log.event('worker.up', at)
    } else if (announced.url !== current.url || announced.ip !== current.ip) {
      const { url, ip } = announced
      log.event('worker.address', { ...at, before_address: url, before_ip: ip ?? '' })
    }
  }
}

function nowOf(clock: Clock): Now {
  return { mono: clock.mono(), wall: clock.now() }
}
