// Keeps the figures of all workers: the one nvidia-smi of this machine, its AMD cards and its
// memory, and each worker's `telemetry_url`. All of it outside of the path of requests; what is
// too old counts as unknown.

import type { Clock, Timer } from '../../clock.ts'
import { Bounded } from '../bounded.ts'
import type { Fleet } from '../fleet.ts'
import type { GpuReading, Worker } from '../worker.ts'
import { readAmdGpus } from './amd-sysfs.ts'
import { combine, noReading } from './combine.ts'
import type { HostMemory, Reading } from './combine.ts'
import { namesMig, selectGpus } from './gpu-selection.ts'
import { readHostMemory } from './host-memory.ts'
import { isLocal, ownAddresses } from './local-worker.ts'
import { NvidiaSmi } from './nvidia-smi.ts'
import type { Pace } from './nvidia-smi.ts'
import { readTelemetryUrl } from './telemetry-url.ts'

export interface TelemetryDeps {
  fleet: Fleet
  clock: Clock
  env: Readonly<Record<string, string | undefined>>
  log: TelemetryLog
  /** Default: every 5 s; nvidia-smi as its file says. */
  pollMs?: number
  nvidiaPace?: Pace
  /** Default: those of this machine. */
  readMemory?: () => Promise<HostMemory | undefined>
  readAmd?: () => Promise<readonly GpuReading[]>
}

/** Told once for each change of a source's state, never for each reading. */
export interface TelemetryLog {
  event(
    name: 'telemetry.available' | 'telemetry.partial' | 'telemetry.unavailable',
    fields: { source: string; worker?: string; reason?: string },
  ): void
}

const POLL_MS = 5_000
/** A page that was last read longer ago than so many polls counts as unknown. */
const STALE_POLLS = 3
/** Pages that are read at once. */
const MAX_PAGES = 32
/** Free memory never stands still; smaller changes are no news for consoles. */
const MEMORY_STEP = 64 * 1024 * 1024

interface Page {
  reading: Reading
  /** Monotonic. */
  readAt: number
  error: string | undefined
  running: boolean
  /** What the log heard last. */
  told: string
}

export class TelemetryReader {
  readonly #deps: TelemetryDeps
  readonly #pollMs: number
  readonly #nvidia: NvidiaSmi
  readonly #pages = new Map<string, Page>()
  readonly #limit = new Bounded(MAX_PAGES)
  readonly #stopped = new AbortController()
  /** Worker → when its figures were last read, in milliseconds since 1970. */
  readonly #succeeded = new Map<string, number>()
  #unsubscribe = (): void => undefined
  #timer: Timer | undefined
  #memory: HostMemory | undefined
  #amd: readonly GpuReading[] = []
  #nvidiaTold = 'starting'
  #own: ReadonlySet<string> = ownAddresses()

  constructor(deps: TelemetryDeps) {
    this.#deps = deps
    this.#pollMs = deps.pollMs ?? POLL_MS
    const { clock, env, nvidiaPace } = deps
    this.#nvidia = new NvidiaSmi({
      clock,
      env,
      onChange: () => this.#heardNvidia(),
      ...(nvidiaPace === undefined ? {} : { pace: nvidiaPace }),
    })
  }

  start(): void {
    this.#unsubscribe = this.#deps.fleet.onChange((event) => {
      if (event.type === 'configured') this.#configured()
    })
    this.#configured()
    this.#poll()
  }

  stop(): void {
    this.#unsubscribe()
    this.#timer?.cancel()
    this.#stopped.abort()
    this.#nvidia.stop()
  }

  /** When the worker's figures were last read, in milliseconds since 1970; undefined: never. */
  succeededAt(worker: string): number | undefined {
    return this.#succeeded.get(worker)
  }

  /** This machine's own figures, for another ogw that asks for them. */
  local(): Reading {
    return { gpus: [...this.#nvidia.gpus, ...this.#amd], memory: this.#memory }
  }

  #configured(): void {
    const workers = this.#deps.fleet.workers()
    const users = workers.filter(({ config }) => config.nvidia_smi)
    const mig = users.some(({ config }) => namesMig(config.nvidia_gpu ?? ''))
    this.#nvidia.want(users.length > 0, mig)
    const names = new Set(workers.map(({ name }) => name))
    for (const known of [this.#pages, this.#succeeded]) {
      for (const name of known.keys()) if (!names.has(name)) known.delete(name)
    }
    for (const { name, config } of workers) {
      if (config.telemetry_url === null) this.#pages.delete(name)
    }
  }

  #poll(): void {
    if (this.#stopped.signal.aborted) return
    this.#timer = this.#deps.clock.after(this.#pollMs, () => this.#poll())
    this.#own = ownAddresses()
    void this.#readHost()
    for (const worker of this.#deps.fleet.workers()) {
      if (worker.config.telemetry_url !== null) void this.#readPage(worker)
    }
  }

  async #readHost(): Promise<void> {
    const { readMemory = readHostMemory, readAmd = readAmdGpus } = this.#deps
    const [memory, amd] = await Promise.all([readMemory(), readAmd()])
    if (this.#stopped.signal.aborted) return
    this.#memory = memory
    this.#amd = amd
    for (const worker of this.#deps.fleet.workers()) this.#tell(worker)
  }

  async #readPage(worker: Worker): Promise<void> {
    const { clock } = this.#deps
    const { name, config } = worker
    const page = this.#pages.get(name) ?? newPage()
    this.#pages.set(name, page)
    if (page.running) return
    page.running = true
    const result = await this.#limit.run(() =>
      readTelemetryUrl(clock, config, this.#stopped.signal),
    )
    page.running = false
    if (this.#stopped.signal.aborted || this.#pages.get(name) !== page) return
    page.error = result.ok ? undefined : result.error
    if (result.ok) {
      page.reading = result.reading
      page.readAt = clock.mono()
    }
    this.#logPage(name, page)
    const current = this.#deps.fleet.worker(name)
    if (current !== undefined) this.#tell(current)
  }

  #logPage(worker: string, page: Page): void {
    const state = page.error === undefined ? 'available' : 'unavailable'
    if (page.told === state) return
    page.told = state
    const reason = page.error === undefined ? {} : { reason: page.error }
    this.#deps.log.event(`telemetry.${state}`, { source: 'telemetry_url', worker, ...reason })
  }

  #heardNvidia(): void {
    const { state } = this.#nvidia
    const word = LOGGED[state.kind]
    if (word !== undefined && word !== this.#nvidiaTold) {
      this.#nvidiaTold = word
      const reason = 'reason' in state ? { reason: state.reason } : {}
      this.#deps.log.event(`telemetry.${word}`, { source: 'nvidia-smi', ...reason })
    }
    for (const worker of this.#deps.fleet.workers()) {
      if (worker.config.nvidia_smi) this.#tell(worker)
    }
  }

  /** Tells the fleet what is known of the worker now, where that differs from what it knows. */
  #tell(worker: Worker): void {
    const { fleet, clock } = this.#deps
    const local = this.#localOf(worker)
    const remote = this.#remoteOf(worker)
    const telemetry = combine(local.reading, remote.reading)
    const error = remote.error ?? local.error
    if (telemetry !== undefined && error === undefined) {
      this.#succeeded.set(worker.name, clock.now())
    }
    const same =
      error === worker.telemetryError &&
      JSON.stringify(telemetry) === JSON.stringify(worker.telemetry)
    if (!same) fleet.apply({ type: 'telemetry', worker: worker.name, telemetry, error })
  }

  #localOf(worker: Worker): Sourced {
    const { nvidia_smi, nvidia_gpu } = worker.config
    const here = nvidia_smi || isLocal(worker, this.#own)
    if (!here) return { reading: noReading, error: undefined }
    const memory = this.#memory === undefined ? undefined : stepped(this.#memory)
    if (!nvidia_smi) return { reading: { gpus: this.#amd, memory }, error: undefined }
    const { state, gpus, migParents } = this.#nvidia
    const selected = selectGpus(gpus, nvidia_gpu, migParents)
    const absent = gpus.length > 0 ? selected.missing : []
    const missing = absent.length > 0 ? `there is no GPU ${absent.join(', ')} here` : undefined
    const error = missing ?? ('reason' in state ? state.reason : undefined)
    return { reading: { gpus: selected.gpus, memory }, error }
  }

  #remoteOf({ name, config }: Worker): Sourced {
    const page = this.#pages.get(name)
    if (page === undefined || config.telemetry_url === null) {
      return { reading: noReading, error: undefined }
    }
    const age = this.#deps.clock.mono() - page.readAt
    const reading = age <= STALE_POLLS * this.#pollMs ? page.reading : noReading
    const { gpus, missing } = selectGpus(reading.gpus, config.nvidia_gpu)
    const absent = gpus.length === 0 && missing.length > 0 && reading.gpus.length > 0
    const error = absent ? `telemetry_url tells of no GPU ${missing.join(', ')}` : page.error
    return { reading: { gpus, memory: reading.memory }, error }
  }
}

interface Sourced {
  reading: Reading
  error: string | undefined
}

/** Off and starting are no news. */
const LOGGED = {
  off: undefined,
  starting: undefined,
  reading: 'available',
  partial: 'partial',
  absent: 'unavailable',
  failing: 'unavailable',
} as const

function newPage(): Page {
  return {
    reading: noReading,
    readAt: Number.NEGATIVE_INFINITY,
    error: undefined,
    running: false,
    told: '',
  }
}

function stepped({ usedBytes, totalBytes }: HostMemory): HostMemory {
  const used = Math.round(usedBytes / MEMORY_STEP) * MEMORY_STEP
  return { usedBytes: Math.min(used, totalBytes), totalBytes }
}
