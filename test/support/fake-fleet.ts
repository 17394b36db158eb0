// Workers that a test changes by hand, and the rig of a scheduler over them.

import { Config } from '../../src/gateway/config/schema.ts'
import { Worker as WorkerSchema } from '../../src/gateway/config/worker-schema.ts'
import { newRecord } from '../../src/gateway/fleet/worker-record.ts'
import type { WorkerRecord } from '../../src/gateway/fleet/worker-record.ts'
import type { Worker } from '../../src/gateway/fleet/worker.ts'
import { Scheduler } from '../../src/gateway/admission/scheduler.ts'
import { parseModelName } from '../../src/gateway/policy/model-name.ts'
import type { Ask } from '../../src/gateway/policy/ask.ts'
import { manualClock } from './manual-clock.ts'
import { installed, loadedModel } from './worker-records.ts'

export interface FakeWorker {
  name: string
  config?: Record<string, unknown>
  /** Names; undefined = the inventory was never read. */
  installed?: readonly string[]
  loaded?: readonly string[]
  health?: Worker['health']
}

export class FakeFleet {
  records: WorkerRecord[]
  readonly #listeners = new Set<(event: unknown, worker: Worker | undefined) => void>()

  constructor(workers: readonly FakeWorker[]) {
    this.records = workers.map((worker, index) => recordOf(worker, index))
  }

  workers(): readonly Worker[] {
    return this.records
  }

  onChange(listener: (event: unknown, worker: Worker | undefined) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  worker(name: string): WorkerRecord {
    const found = this.records.find((record) => record.name === name)
    if (found === undefined) throw new Error(`no worker ${name}`)
    return found
  }

  /** Changes a record in place and tells the listeners, as the fleet does. */
  change(name: string, change: (record: WorkerRecord) => void): void {
    const record = this.worker(name)
    change(record)
    for (const listener of this.#listeners) listener({}, record)
  }

  down(name: string, at: number): void {
    this.change(name, (record) => {
      record.health = { state: 'down', sinceMono: at, sinceWall: 0, error: 'connect ECONNREFUSED' }
    })
  }

  ps(name: string, models: readonly string[], readAt: number): void {
    this.change(name, (record) => setLoaded(record, models, readAt))
  }
}

export function setLoaded(record: WorkerRecord, names: readonly string[], readAt: number): void {
  const models = new Map(names.map((name) => loadedModel(name)).map((one) => [one.key, one]))
  record.loaded = { state: 'known', models, readAt, error: undefined }
}

export function recordOf(worker: FakeWorker, index: number): WorkerRecord {
  const config = WorkerSchema.parse({
    url: 'http://127.0.0.1:1',
    ...worker.config,
    name: worker.name,
  })
  const record = newRecord(config, index, { mono: 0, wall: 0 })
  record.health = worker.health ?? { state: 'up', sinceMono: 0 }
  if (worker.installed !== undefined) {
    const rows = worker.installed.map((name) => installed(name))
    const models = new Map(rows.map((row) => [row.model.key, row]))
    record.inventory = { state: 'known', models, readAt: 0, error: undefined }
  }
  if (worker.loaded !== undefined) setLoaded(record, worker.loaded, 0)
  return record
}

export interface RigOptions {
  config?: Record<string, unknown>
  throwingEffects?: boolean
}

/** A scheduler over these workers on a clock that stands still. */
export function schedulerRig(workers: readonly FakeWorker[], options: RigOptions = {}) {
  const fleet = new FakeFleet(workers)
  const clock = manualClock()
  const config = Config.parse(options.config ?? {})
  const unloaded: string[] = []
  const events: unknown[] = []
  const scheduler = new Scheduler({
    fleet,
    clock,
    config: () => config,
    effects: {
      unload(worker, model) {
        unloaded.push(`${worker} ${model}`)
        if (options.throwingEffects === true) throw new Error('a sink that fails')
      },
      event: (name, fields) => void events.push({ name, ...fields }),
    },
  })
  let asked = 0
  const ask = (model: string, changes: Partial<Ask> = {}): Ask => {
    asked += 1
    return {
      ...askOf(model),
      requestId: `r${asked}`,
      waitUntil: clock.mono() + 240_000,
      enteredAt: clock.mono(),
      ...changes,
    }
  }
  return { fleet, clock, config, scheduler, ask, unloaded, events }
}

export function askOf(model: string, changes: Partial<Ask> = {}): Ask {
  const parsed = parseModelName(model)
  if (!parsed.ok) throw new Error(parsed.reason)
  return {
    requestId: 'r',
    model: parsed.name,
    needs: [],
    contextTokens: undefined,
    numCtx: undefined,
    cost: 100,
    tenant: 'default',
    actor: 'someone',
    priority: 'interactive',
    affinity: undefined,
    keepsAlive: false,
    waitUntil: 240_000,
    enteredAt: 0,
    failed: new Map(),
    ...changes,
  }
}
