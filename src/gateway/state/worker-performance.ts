// Learned token rates, kept over restarts. They only make selection better, so a disk that fails
// is told and disturbs no request: writes are gathered, and what failed is written with the next.

import { z } from 'zod'
import type { Clock, Timer } from '../clock.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Worker } from '../fleet/worker.ts'
import { restoredRates } from '../policy/throughput.ts'
import type { Rates } from '../policy/throughput.ts'
import type { Disk } from './disk.ts'
import { Document, NotSaved } from './document.ts'
import type { DocumentForm } from './document-form.ts'
import { named, namedOf } from './named.ts'
import type { Named } from './named.ts'

/** Milliseconds over which changes are gathered into one write. */
const WRITE_GAP_MS = 10_000

/** Models per worker that are kept: those learned last. */
const MAX_MODELS = 2_000

const StoredRates = z.object({
  prompt_per_s: z.number().optional(),
  prompt_samples: z.number().default(0),
  output_per_s: z.number().optional(),
  output_samples: z.number().default(0),
  /** Wall clock time of the newest sample, in milliseconds. */
  updated_at: z.number(),
})
type StoredRates = z.infer<typeof StoredRates>

/** By worker name and model key. Workers that the config has no longer are kept. */
const Stored = z.object({ version: z.literal(1), workers: named(named(StoredRates)) })
type Stored = z.infer<typeof Stored>

export const performanceForm: DocumentForm<Stored> = {
  schema: Stored,
  empty: { version: 1, workers: namedOf([]) },
  remedy: 'move it away to start with nothing learned',
}

export interface PerformanceDeps {
  fleet: Fleet
  clock: Clock
  /** Told when writing begins to fail, and with undefined when it works again. */
  onTrouble(error: NotSaved | undefined): void
  disk?: Disk
}

export class WorkerPerformance {
  readonly #deps: PerformanceDeps
  readonly #document: Document<Stored>
  readonly #unsaved = new Set<string>()
  #timer: Timer | undefined
  #trouble: NotSaved | undefined
  #writing: Promise<void> = Promise.resolve()
  #unsubscribe = (): void => undefined

  /** Reads what earlier runs learned. Throws StartError where the file cannot be trusted. */
  constructor(file: string, deps: PerformanceDeps) {
    this.#deps = deps
    this.#document = new Document<Stored>({
      file,
      ...performanceForm,
      ...(deps.disk === undefined ? {} : { disk: deps.disk }),
    })
  }

  /** Why the newest write failed; undefined while they work. */
  get trouble(): NotSaved | undefined {
    return this.#trouble
  }

  /** Gives the fleet what is stored, and follows what it learns. */
  start(): void {
    const { fleet } = this.#deps
    this.#unsubscribe = fleet.onChange((event, worker) => {
      if (event.type === 'configured') this.#restore()
      if (event.type === 'learned' && worker !== undefined) this.#learned(worker)
    })
    this.#restore()
  }

  /** Writes what is not written yet. Never rejects. */
  async flush(): Promise<void> {
    this.#timer?.cancel()
    this.#timer = undefined
    await this.#write()
  }

  /** Follows the fleet no more, and writes the rest. */
  async stop(): Promise<void> {
    this.#unsubscribe()
    await this.flush()
  }

  /** Workers that have learned nothing in this run get what they knew before. */
  #restore(): void {
    const { fleet, clock } = this.#deps
    for (const { name, rates: known } of fleet.workers()) {
      const stored = this.#document.value.workers[name]
      if (stored === undefined || known.size > 0) continue
      const rates = new Map<string, Rates>()
      for (const [model, raw] of Object.entries(stored)) {
        const restored = restoredRates(decode(raw), clock.now())
        if (restored !== undefined) rates.set(model, restored)
      }
      fleet.apply({ type: 'rates_restored', worker: name, rates })
    }
  }

  #learned(worker: Worker): void {
    this.#unsaved.add(worker.name)
    this.#timer ??= this.#deps.clock.after(WRITE_GAP_MS, () => {
      this.#timer = undefined
      void this.#write()
    })
  }

  /** One write after the other: each adds to what the one before it left. */
  #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeUnsaved())
    return this.#writing
  }

  async #writeUnsaved(): Promise<void> {
    if (this.#unsaved.size === 0) return
    const names = [...this.#unsaved]
    this.#unsaved.clear()
    try {
      await this.#document.save({ version: 1, workers: this.#merged(names) })
      this.#tell(undefined)
    } catch (error) {
      if (!(error instanceof NotSaved)) throw error
      for (const name of names) this.#unsaved.add(name)
      this.#tell(error)
    }
  }

  #merged(names: readonly string[]): Stored['workers'] {
    const next = new Map(Object.entries(this.#document.value.workers))
    for (const name of names) {
      const worker = this.#deps.fleet.worker(name)
      if (worker !== undefined) next.set(name, encodeAll(worker.rates))
    }
    return namedOf(next)
  }

  #tell(trouble: NotSaved | undefined): void {
    const changed = (this.#trouble === undefined) !== (trouble === undefined)
    this.#trouble = trouble
    if (changed) this.#deps.onTrouble(trouble)
  }
}

function encodeAll(rates: ReadonlyMap<string, Rates>): Named<StoredRates> {
  const kept =
    rates.size <= MAX_MODELS
      ? [...rates]
      : [...rates].toSorted(([, a], [, b]) => b.updatedAt - a.updatedAt).slice(0, MAX_MODELS)
  return namedOf(kept.map(([model, of]) => [model, encode(of)] as const))
}

function decode(stored: StoredRates): Rates {
  return {
    promptPerS: stored.prompt_per_s,
    promptSamples: stored.prompt_samples,
    outputPerS: stored.output_per_s,
    outputSamples: stored.output_samples,
    updatedAt: stored.updated_at,
  }
}

function encode(rates: Rates): StoredRates {
  const { promptPerS, promptSamples, outputPerS, outputSamples, updatedAt } = rates
  return {
    ...(promptPerS === undefined ? {} : { prompt_per_s: promptPerS }),
    prompt_samples: promptSamples,
    ...(outputPerS === undefined ? {} : { output_per_s: outputPerS }),
    output_samples: outputSamples,
    updated_at: updatedAt,
  }
}
