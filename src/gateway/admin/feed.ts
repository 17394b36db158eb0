// Keeps consoles up to date. One table of rows serves them all: each row has the number of the
// change that made it what it is, and a console is told the rows above the number it has seen. So
// a slow one needs no queue; when it reads again, it gets the newest state.
//
// While nobody watches, nothing is computed.

import type { Clock, Timer } from '../clock.ts'
import type { Snapshot, WatchLine } from '../contract/schema/snapshot.ts'
import { gatewaySection, makeSnapshot, modelsSection, placementSection } from './snapshot.ts'
import { requestsSection, trafficSection, workersSection } from './snapshot.ts'
import type { SnapshotSources } from './snapshot.ts'

/** Four times a second: more is not seen, and costs each console a redraw. */
const TICK_MS = 250
/** A console calls a gateway stale after three seconds of silence. */
const HEARTBEAT_MS = 2_000
/** Model rows of a large fleet are expensive: they take at most this share of the time. */
const MODELS_SHARE = 0.05
/** Names of rows that are gone; a reader that is further behind gets a whole snapshot. */
const MAX_GONE = 10_000

type Collection = 'workers' | 'models' | 'requests' | 'tenants'
type Section = 'gateway' | 'traffic' | 'placement' | 'access'
type Row = NonNullable<Snapshot[Collection]>[number]

interface Kept {
  value: unknown
  json: string
  version: number
}

interface Table {
  rows: Map<string, Kept>
  gone: Map<string, number>
}

const newTable = (): Table => ({ rows: new Map(), gone: new Map() })

export class Feed {
  readonly #sources: SnapshotSources
  readonly #clock: Clock
  readonly #sections = new Map<Section, Kept>()
  readonly #tables: Record<Collection, Table> = {
    workers: newTable(),
    models: newTable(),
    requests: newTable(),
    tenants: newTable(),
  }
  #version = 0
  /** Below it, names of rows that are gone were forgotten. */
  #goneFrom = 0
  #watchers = 0
  #timer: Timer | undefined
  #modelsDueAt = 0
  #tick = Promise.withResolvers<void>()

  constructor(sources: SnapshotSources) {
    this.#sources = sources
    this.#clock = sources.clock
  }

  /** Ends when the signal does. The next line is made when it is asked for. */
  async *watch(signal: AbortSignal): AsyncGenerator<WatchLine, void, undefined> {
    if (signal.aborted) return
    this.#enter()
    try {
      this.#refresh(true)
      let seen = { version: this.#version, events: this.#sources.events.seq }
      yield { type: 'snapshot', snapshot: makeSnapshot(this.#sources) }
      let saidAt = this.#clock.mono()
      for (;;) {
        await this.#nextTick(signal)
        if (signal.aborted) return
        const now = { version: this.#version, events: this.#sources.events.seq }
        const line = this.#lineSince(seen, saidAt)
        if (line === undefined) continue
        seen = now
        saidAt = this.#clock.mono()
        yield line
      }
    } finally {
      this.#leave()
    }
  }

  #lineSince(seen: { version: number; events: number }, saidAt: number): WatchLine | undefined {
    if (seen.version < this.#goneFrom) {
      return { type: 'snapshot', snapshot: makeSnapshot(this.#sources) }
    }
    const mono = this.#clock.mono()
    const changed = this.#version > seen.version || this.#sources.events.seq > seen.events
    if (changed) return this.#changesSince(seen, mono)
    return mono - saidAt >= HEARTBEAT_MS ? { type: 'heartbeat', mono } : undefined
  }

  #changesSince(seen: { version: number; events: number }, mono: number): WatchLine {
    const line: Record<string, unknown> = { type: 'change', mono }
    for (const [name, { value, version }] of this.#sections) {
      if (version > seen.version) line[name] = value
    }
    for (const [name, { rows, gone }] of Object.entries(this.#tables)) {
      const set = [...rows.values()].filter(({ version }) => version > seen.version)
      const left = [...gone].filter(([, version]) => version > seen.version)
      if (set.length + left.length === 0) continue
      line[name] = { set: set.map(({ value }) => value), gone: left.map(([row]) => row) }
    }
    const events = this.#sources.events.after(seen.events)
    if (events.length > 0) line['events'] = events
    // Built key by key from values of these very types, see #keepSection and #keepRows.
    return line as WatchLine
  }

  #refresh(all: boolean): void {
    const sources = this.#sources
    this.#keepSection('gateway', gatewaySection(sources))
    this.#keepSection('traffic', trafficSection(sources))
    this.#keepSection('placement', placementSection(sources))
    this.#keepRows('workers', workersSection(sources))
    this.#keepRows('requests', requestsSection(sources))
    this.#keepSection('access', sources.tenants.revisions())
    this.#keepRows('tenants', sources.tenants.lines())
    const startedAt = this.#clock.mono()
    if (!all && startedAt < this.#modelsDueAt) return
    this.#keepRows('models', modelsSection(sources))
    const endedAt = this.#clock.mono()
    this.#modelsDueAt = endedAt + (endedAt - startedAt) / MODELS_SHARE
  }

  #keepSection<S extends Section>(name: S, value: Snapshot[S]): void {
    const json = JSON.stringify(value)
    if (this.#sections.get(name)?.json === json) return
    this.#version += 1
    this.#sections.set(name, { value, json, version: this.#version })
  }

  #keepRows(collection: Collection, values: readonly Row[]): void {
    const { rows, gone } = this.#tables[collection]
    const left = new Set(rows.keys())
    for (const value of values) {
      const name = nameOf(value)
      left.delete(name)
      const json = JSON.stringify(value)
      if (rows.get(name)?.json === json) continue
      this.#version += 1
      gone.delete(name)
      rows.set(name, { value, json, version: this.#version })
    }
    for (const name of left) {
      this.#version += 1
      rows.delete(name)
      gone.set(name, this.#version)
    }
    if (gone.size > MAX_GONE) {
      gone.clear()
      this.#goneFrom = this.#version
    }
  }

  #enter(): void {
    this.#watchers += 1
    if (this.#watchers === 1) this.#plan()
  }

  #leave(): void {
    this.#watchers -= 1
    if (this.#watchers > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #plan(): void {
    this.#timer = this.#clock.after(TICK_MS, () => {
      this.#refresh(false)
      this.#plan()
      const ticked = this.#tick
      this.#tick = Promise.withResolvers()
      ticked.resolve()
    })
  }

  async #nextTick(signal: AbortSignal): Promise<void> {
    const aborted = Promise.withResolvers<void>()
    const onAbort = (): void => aborted.resolve()
    signal.addEventListener('abort', onAbort, { once: true })
    await Promise.race([this.#tick.promise, aborted.promise])
    signal.removeEventListener('abort', onAbort)
  }
}

function nameOf(row: Row): string {
  if ('id' in row) return row.id
  return 'model' in row ? row.model : row.name
}
